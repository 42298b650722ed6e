package io.farpage.agent.control.pull;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node fills extents of clones from a snapshot that is in its own pool, with a real coordinator. */
class FilledExtentsTest {
    private static final Incarnation HOME = new Incarnation(7);
    private static final Incarnation WRITER = new Incarnation(9);
    private static final int PAGE = 4096;
    private static final int EXTENT_BYTES = 512 * PAGE;
    private static final int POOL_BYTES = 16 << 20;

    @TempDir
    private Path store = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private Spaces writers;
    private Pulls pulls;
    private SpaceUse clone;
    private boolean isDeleted;

    @BeforeEach
    void makeClone() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("h", HOME, POOL_BYTES);
        coordinator.register("w", WRITER, PAGE);
        coordinator.client().createSpace(SpaceRequest.of("golden", 2L * EXTENT_BYTES));
        acknowledge();
        pool = PagePool.open(PoolConfig.of("h", HOME.value(), POOL_BYTES, 2 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        SplittableRandom random = new SplittableRandom(3);
        for (int at = 0; at < 2 * EXTENT_BYTES; at += Long.BYTES) {
            pool.exported().set(ValueLayout.JAVA_LONG, at, random.nextLong());
        }
        coordinator.client().makeSnapshot("golden");
        coordinator.client().makeClone("golden", new CloneRequest("c"));
        writers = new Spaces(coordinator.client(), "w", WRITER);
        clone = writers.useExclusively(writers.resolve("c").orElseThrow(), Claim.PLAIN)
                .orElseThrow();
        spaces = new Spaces(coordinator.client(), "h", HOME);
        LocalNode self =
                new LocalNode("h", HOME, pool, coordinator.client(), LinkKeys.generate("h", HOME, Optional.empty()));
        pulls = new Pulls(
                self,
                loop,
                PeerLink::new,
                id -> isDeleted ? Optional.empty() : spaces.use(id),
                new Pulls.Options(1 << 30, Duration.ofSeconds(1), Duration.ofMillis(1)));
        loop.start();
        pulls.start();
    }

    @AfterEach
    void close() {
        pulls.close();
        loop.close();
        clone.close();
        writers.close();
        spaces.close();
        pool.close();
        coordinator.close();
    }

    private void acknowledge() throws CoordinatorException {
        long revision = coordinator.client().hosted("h").revision();
        coordinator.client().acknowledgeHosted("h", new HostedAck(HOME, revision, List.of(), List.of()));
    }

    private Extent extent(int index) throws CoordinatorException {
        return coordinator.client().extents("c").orElseThrow().extents().get(index);
    }

    private void want(int index) throws CoordinatorException {
        coordinator.client().allocate("c", "w", new WriterRequest(WRITER, List.of(ExtentEpoch.of(extent(index)))));
        pulls.follow(coordinator.client().hosted("h"));
    }

    @Test
    void shouldFillAnExtentFromItsOwnPool() throws Exception {
        want(1);
        await("the extent has a home", Deadlines.SHORT).until(() -> extent(1).isAllocated());
        long page = extent(1).firstPage();
        long to = extent(1).primary().offset();
        long from = coordinator.client().extents("golden").orElseThrow().extents().stream()
                .filter(of -> of.contains(page))
                .map(of -> of.primary().offset() + (page - of.firstPage()) * PAGE)
                .findFirst()
                .orElseThrow();
        assertTrue(to >= 2L * EXTENT_BYTES, "room of its own");
        assertEquals(
                -1,
                pool.exported()
                        .asSlice(from, EXTENT_BYTES)
                        .mismatch(pool.exported().asSlice(to, EXTENT_BYTES)));
        assertFalse(extent(0).isAllocated());
        assertEquals(List.of(), pulls.copies());
    }

    @Test
    void shouldReportWhyItCannotFillAnExtent() throws Exception {
        isDeleted = true;
        want(0);
        await("the fill is given up", Deadlines.SHORT)
                .until(() -> extent(0).joining().isEmpty());
        assertFalse(extent(0).isAllocated());
    }
}
