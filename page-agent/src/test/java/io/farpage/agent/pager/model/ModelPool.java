package io.farpage.agent.pager.model;

import io.farpage.agent.space.SpaceMap;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.hugepages.HugepageSize;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The agent's pool, which all worlds have one after the other, since a pool takes longer to make than a world. */
final class ModelPool {
    static final String NODE = "a";
    static final long INCARNATION = 3;
    static final int FRAMES = 16;

    private static final PagePool POOL = open();

    private ModelPool() {}

    private static PagePool open() {
        long bytes = (long) FRAMES * Memory.PAGE;
        try {
            return PagePool.open(PoolConfig.of(NODE, INCARNATION, bytes, bytes)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
    }

    static PagePool pool() {
        return POOL;
    }

    /** Makes it as new, with so many staging frames to be had. */
    static void reset(int frames) {
        FrameAllocator staging = POOL.stagingFrames();
        for (int frame = 0; frame < FRAMES; frame++) {
            if (!staging.isFree(frame)) {
                staging.free(frame);
            }
            Memory.version(POOL.stagingAddress() + POOL.offset(frame), 0);
            Memory.version(POOL.exportedAddress() + POOL.offset(frame), 0);
        }
        if (frames < FRAMES) {
            staging.allocateRun(FRAMES - frames);
        }
    }

    /** Where the pages live: each at the same place within its home's frames as within the space. */
    static SpaceMap map(String home, Setup setup) {
        int remote = setup.pages() - setup.localPages();
        List<Extent> extents = new ArrayList<>();
        extents.add(extent(0, remote, home, SimulatedNetwork.INCARNATION));
        if (setup.localPages() > 0) {
            extents.add(extent(remote, setup.localPages(), NODE, INCARNATION));
        }
        Space space = new Space(
                1, "model", (long) setup.pages() * Memory.PAGE, Memory.PAGE, ExtentState.OK, Instant.EPOCH, false);
        return SpaceMap.of(new SpaceExtents(space, 1, extents));
    }

    private static Extent extent(int first, int count, String node, long incarnation) {
        ExtentHome home = new ExtentHome(node, new Incarnation(incarnation), (long) first * Memory.PAGE);
        return new Extent(first, count, List.of(home), ExtentState.OK);
    }
}
