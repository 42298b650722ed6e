package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.linux.EventFd;
import io.farpage.linux.ThreadScheduling;
import io.farpage.linux.uffd.Userfaultfd;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the pagers of a guest come to their shard, whose thread does not run: the test runs its duty cycles. */
final class SlicedPagingTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final long BASE = 1L << 40;
    private static final long POOL_BYTES = 1 << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Incarnation SELF = new Incarnation(1);

    @TempDir
    private Path directory;

    private final List<EventFd> files = new ArrayList<>();
    private final SpaceMap map = new SpaceMap(
            "vm",
            1,
            PAGES,
            PAGE,
            List.of(new SpaceMap.Extent(
                    0, PAGES, "home", 2, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE)),
            0);
    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private PagePool pool;
    private PagerHosts hosts;

    @BeforeEach
    void open() throws PoolException {
        pool = PagePool.open(PoolConfig.of("a", SELF.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        CoordinatorClient coordinator = new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofMillis(100));
        PinPolicy pins = new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO);
        GuestOptions options = new GuestOptions(
                4,
                DEADLINE,
                DEADLINE,
                Duration.ZERO,
                pins,
                new Seals(Seals.Options.none(directory)),
                Drops.Options.DEFAULT,
                new GuestKeeping("a", SELF, Optional.empty()),
                VictimMemory.NONE);
        PagerHost host = new PagerHost(
                0,
                new LocalNode("a", SELF, pool, coordinator, LinkKeys.generate("a", SELF, Optional.empty())),
                loop,
                PeerLink::new,
                options,
                new Spaces(coordinator, "a", SELF).drops());
        hosts = new PagerHosts(List.of(host), pins);
    }

    @AfterEach
    void close() {
        loop.close();
        pool.close();
    }

    /** A guest of two slices. */
    private SlicedPaging guest(int userfaultfds, Supplier<SpaceMap> maps) throws HandoffException {
        List<Slice> slices = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            long bytes = (long) PAGES / 2 * PAGE;
            slices.add(new Slice(
                    i * bytes, i * PAGES / 2, PAGES / 2, List.of(new GuestRegion(BASE + i * bytes, bytes, 0))));
        }
        List<Userfaultfd> uffds = new ArrayList<>();
        for (int i = 0; i < userfaultfds; i++) {
            files.add(new EventFd());
            uffds.add(Userfaultfd.adopt(files.getLast().fd()));
        }
        return new SlicedPaging(
                new SlicedPaging.Contents(
                        "vm", maps, PAGE, false, PresenceMap.zeros(PAGES), Optional.empty(), Optional.empty()),
                new VmmMemory(1, slices, uffds, null),
                new PagerOptions(PAGES, 1),
                hosts);
    }

    @Test
    void shouldLeaveNothingOnShardWhenGuestCannotBeServed() {
        assertThrows(RuntimeException.class, () -> guest(1, () -> map), "the second slice has no userfaultfd");
        assertEquals(0, loop.shard().doWork(), "a pager begins on descriptors that the caller has closed");
        files.forEach(EventFd::close);
    }

    /** A guest that runs for days is waited for millions of times. */
    @Test
    void shouldLeaveNothingBehindWhenWaitForEndIsOver() throws HandoffException {
        SlicedPaging guest = guest(2, () -> map);
        int before = guest.waiting();
        for (int i = 0; i < 100; i++) {
            assertThrows(TimeoutException.class, () -> guest.await(Duration.ZERO));
        }
        assertEquals(before, guest.waiting());
        guest.start();
        guest.close();
    }

    @Test
    void shouldRunNoPagerBeforeAllAreMade() throws HandoffException {
        List<Integer> work = new ArrayList<>();
        AtomicBoolean isMade = new AtomicBoolean(); // pagers that run read the map, too
        SlicedPaging guest = guest(2, () -> {
            if (!isMade.get()) {
                work.add(loop.shard().doWork());
            }
            return map;
        });
        isMade.set(true);
        assertFalse(work.isEmpty());
        assertTrue(work.stream().allMatch(each -> each == 0), "a pager that runs alone could have a home promoted");
        guest.start();
        assertTrue(loop.shard().doWork() >= 2, "both pagers are added");
    }
}
