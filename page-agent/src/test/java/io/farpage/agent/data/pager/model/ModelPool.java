package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.frames.FrameShares;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.function.IntToLongFunction;
import java.util.function.Predicate;

/**
 * The agent's pool, one for each page size, which all worlds have one after the other, since a pool takes longer to
 * make than a world. Its frames are of 4 KiB, as an agent's are.
 */
final class ModelPool {
    static final String NODE = "a";
    static final long INCARNATION = 3;
    /** Pages that the staging memory has room for. */
    static final int PAGES = 16;

    private static final ModelPool SMALL = new ModelPool(Memory.PAGE);

    private final int framesPerPage;
    private final PagePool pool;

    private ModelPool(int pageBytes) {
        framesPerPage = pageBytes / Memory.PAGE;
        long bytes = (long) PAGES * pageBytes;
        try {
            pool = PagePool.open(PoolConfig.of(NODE, INCARNATION, bytes, bytes)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The pool for large pages, opened when the first world has them. */
    private static final class Large {
        static final ModelPool POOL = new ModelPool(Memory.LARGE_PAGE);

        private Large() {}
    }

    private static ModelPool of(Setup setup) {
        return setup.has(Feature.LARGE_PAGES) ? Large.POOL : SMALL;
    }

    static PagePool pool(Setup setup) {
        return of(setup).pool;
    }

    /** Shares of the staging memory that the setup has, for one pager. */
    static FrameShares shares(Setup setup) {
        return new FrameShares(setup.frames() * of(setup).framesPerPage);
    }

    /** Pages that the free frames of the staging memory make up. */
    static int freePages(Setup setup) {
        ModelPool of = of(setup);
        return of.pool.stagingFrames().available() / of.framesPerPage;
    }

    /** Makes the pool as new, with the free staging frames that the setup says. */
    static void reset(Setup setup) {
        of(setup).reset(setup.frames());
    }

    /** The agent was killed: its successor has all staging frames, and the exported ones are as they were. */
    static void succeed(Setup setup) {
        ModelPool of = of(setup);
        of.freeStaging();
        of.reserve(setup.frames());
    }

    private void reset(int pages) {
        freeStaging();
        for (int page = 0; page < PAGES; page++) {
            Memory.version(pool.stagingAddress() + pool.offset(page * framesPerPage), 0);
            Memory.version(pool.exportedAddress() + pool.offset(page * framesPerPage), 0);
        }
        reserve(pages);
    }

    private void freeStaging() {
        FrameAllocator staging = pool.stagingFrames();
        for (int frame = 0; frame < PAGES * framesPerPage; frame++) {
            if (!staging.isFree(frame)) {
                staging.free(frame);
            }
        }
    }

    private void reserve(int pages) {
        FrameAllocator staging = pool.stagingFrames();
        if (pages < PAGES) {
            staging.allocateRun((PAGES - pages) * framesPerPage);
        }
    }

    /**
     * The map of a mirrored world.
     *
     * @param homes of all pages on other nodes, at least one
     * @param joining a home that joins
     * @param pull whether that home copies pages itself
     * @param isLost whether the pages are gone with these homes
     * @param revision higher for a later map, and the epoch of its extent
     */
    static SpaceMap mirrored(
            Setup setup,
            List<String> homes,
            Optional<String> joining,
            SpaceMap.Pull pull,
            boolean isLost,
            long revision) {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        List<SpaceMap.Copy> others = homes.stream()
                .skip(1)
                .map(node -> new SpaceMap.Copy(node, SimulatedNetwork.INCARNATION, 0))
                .toList();
        extents.add(new SpaceMap.Extent(
                0,
                setup.remotePages(),
                homes.getFirst(),
                SimulatedNetwork.INCARNATION,
                0,
                isLost,
                others,
                revision,
                joining.map(node -> new SpaceMap.Copy(node, SimulatedNetwork.INCARNATION, 0)),
                pull));
        add(extents, setup, setup.remotePages(), setup.pages(), NODE, INCARNATION, false);
        return new SpaceMap("model", 1, setup.pages(), setup.pageBytes(), extents, revision);
    }

    /**
     * The map of a thin world: each page on another node is an extent.
     *
     * @param isAllocated whether a page has room
     * @param revision higher for a later map
     */
    static SpaceMap thin(Setup setup, IntPredicate isAllocated, IntToLongFunction epochs, long revision) {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        for (int page = 0; page < setup.remotePages(); page++) {
            extents.add(
                    isAllocated.test(page)
                            ? new SpaceMap.Extent(
                                    page,
                                    1,
                                    SimulatedHome.name(page < setup.secondHomeFrom() ? 0 : 1),
                                    SimulatedNetwork.INCARNATION,
                                    (long) page * setup.pageBytes(),
                                    false,
                                    List.of(),
                                    epochs.applyAsLong(page),
                                    Optional.empty(),
                                    SpaceMap.Pull.NONE)
                            : SpaceMap.Extent.unallocated(page, 1, epochs.applyAsLong(page)));
        }
        add(extents, setup, setup.remotePages(), setup.pages(), NODE, INCARNATION, false);
        SpaceMap map = new SpaceMap("model", 1, setup.pages(), setup.pageBytes(), extents, revision);
        return setup.has(Feature.CLONE) ? map.over(snapshot(setup)) : map;
    }

    /** Where the pages of a clone's snapshot live: behind those of the clone, an extent at each home. */
    private static SpaceMap snapshot(Setup setup) {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        int second = setup.secondHomeFrom();
        addOfSnapshot(extents, setup, 0, second, 0);
        addOfSnapshot(extents, setup, second, setup.remotePages(), 1);
        add(extents, setup, setup.remotePages(), setup.pages(), NODE, INCARNATION, false);
        return new SpaceMap("snapshot", 2, setup.pages(), setup.pageBytes(), extents, 0);
    }

    private static void addOfSnapshot(List<SpaceMap.Extent> to, Setup setup, int first, int end, int home) {
        if (first < end) {
            long offset = (long) (setup.pages() + first) * setup.pageBytes();
            to.add(new SpaceMap.Extent(
                    first,
                    end - first,
                    SimulatedHome.name(home),
                    SimulatedNetwork.INCARNATION,
                    offset,
                    false,
                    List.of(),
                    0,
                    Optional.empty(),
                    SpaceMap.Pull.NONE));
        }
    }

    /** Where the pages live: each at the same place within its home's frames as within the space. */
    static SpaceMap map(Setup setup, String first, String second) {
        return map(setup, first, second, _ -> false, 0);
    }

    /**
     * As the other one.
     *
     * @param isLost whether a home was started anew, so that the pages there are gone
     * @param revision higher for a later map
     */
    static SpaceMap map(Setup setup, String first, String second, Predicate<String> isLost, long revision) {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        int from = setup.secondHomeFrom();
        add(extents, setup, 0, from, first, SimulatedNetwork.INCARNATION, isLost.test(first));
        add(extents, setup, from, setup.remotePages(), second, SimulatedNetwork.INCARNATION, isLost.test(second));
        add(extents, setup, setup.remotePages(), setup.pages(), NODE, INCARNATION, false);
        return new SpaceMap("model", 1, setup.pages(), setup.pageBytes(), extents, revision);
    }

    private static void add(
            List<SpaceMap.Extent> to, Setup setup, int first, int end, String node, long incarnation, boolean isLost) {
        if (first < end) {
            long offset = (long) first * setup.pageBytes();
            to.add(new SpaceMap.Extent(
                    first,
                    end - first,
                    node,
                    incarnation,
                    offset,
                    isLost,
                    List.of(),
                    0,
                    Optional.empty(),
                    SpaceMap.Pull.NONE));
        }
    }
}
