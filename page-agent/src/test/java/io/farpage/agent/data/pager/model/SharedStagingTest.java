package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Two homes, and guests whose pagers have staging memory for four pages together. */
class SharedStagingTest {
    private static final int PAGES = 16;
    private static final int SLOTS = 32;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    @AutoClose
    private final PagePool pool = pool();

    private final SimulatedNetwork one = new SimulatedNetwork("one", PAGES, Memory.PAGE);
    private final SimulatedNetwork other = new SimulatedNetwork("other", PAGES, Memory.PAGE);
    private final Map<String, PeerLink> links = new HashMap<>();
    private long attempts;
    private long now = SECOND;
    private final Shard shard = new Shard(
            List.of(one.rail(), other.rail()), Arena.ofAuto().allocate(2 * PoolHeader.BYTES), () -> now, () -> {});

    private static PagePool pool() {
        try {
            return PagePool.open(PoolConfig.of("a", 1, 4L * Memory.PAGE, 4L * Memory.PAGE)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
    }

    private PeerLink link(String node) {
        return links.computeIfAbsent(node, PeerLink::new);
    }

    /** Serves a guest whose pages live on these homes, in equal parts. */
    private RecordingKernel serve(String... homes) {
        RecordingKernel kernel = new RecordingKernel();
        List<SpaceMap.Extent> extents = new ArrayList<>();
        int each = PAGES / homes.length;
        for (int i = 0; i < homes.length; i++) {
            extents.add(new SpaceMap.Extent(
                    (long) i * each,
                    each,
                    homes[i],
                    SimulatedNetwork.INCARNATION,
                    (long) i * each * Memory.PAGE,
                    false,
                    List.of(),
                    0,
                    Optional.empty(),
                    SpaceMap.Pull.NONE));
        }
        SpaceMap map = new SpaceMap("shared", 1, PAGES, Memory.PAGE, extents, 0);
        Pager pager = new Pager(
                new PagedGuest(
                        "shared",
                        kernel,
                        null,
                        List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        PresenceMap.unknown(PAGES),
                        Pins.NONE,
                        null,
                        null,
                        false),
                new PagerBacking("a", 1, () -> map, this::link, shard.newFetcher(SLOTS, 2 * SECOND), pool),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
        shard.submit(new ShardCommand.AddCycle(pager));
        return kernel;
    }

    private static void touch(RecordingKernel kernel, int first, int count) {
        kernel.messages = messages -> {
            for (int page = first; page < first + count; page++) {
                messages.fault(RecordingKernel.BASE + (long) page * Memory.PAGE, false, false);
            }
        };
    }

    private void connect(String node, SimulatedNetwork network) {
        shard.submit(new ShardCommand.Install(
                link(node),
                new Connection(
                        network.connect(),
                        network.rail(),
                        SimulatedNetwork.INCARNATION,
                        network.memory(),
                        ++attempts)));
        runUntil(() ->
                !network.underWay().isEmpty() && network.underWay().getFirst().isHeader());
        network.complete();
        runUntil(() -> link(node).phase() == LinkPhase.UP);
    }

    @Test
    void shouldFetchForOneGuestWhileAnotherWaitsForHomeThatIsDown() {
        RecordingKernel stuck = serve("one");
        RecordingKernel healthy = serve("other");
        connect("other", other);
        touch(stuck, 0, PAGES);
        run(64);
        touch(healthy, 3, 1);
        run(64);
        assertEquals(1, other.underWay().size(), "READs of the guest whose home is up");
    }

    @Test
    void shouldFetchForOneGuestWhileAnotherWaitsForHomeThatIsSilent() {
        RecordingKernel stuck = serve("one");
        RecordingKernel healthy = serve("other");
        connect("one", one);
        connect("other", other);
        touch(stuck, 0, PAGES);
        run(64);
        touch(healthy, 3, 1);
        run(64);
        assertEquals(1, other.underWay().size(), "READs of the guest whose home answers");
    }

    @Test
    void shouldFetchFromOneHomeWhileThreadsWaitForAllPagesOfAnother() {
        RecordingKernel kernel = serve("other", "one");
        connect("one", one);
        connect("other", other);
        touch(kernel, PAGES / 2, PAGES / 2);
        run(64);
        assertTrue(!one.underWay().isEmpty());
        touch(kernel, 0, 1);
        run(64);
        assertEquals(1, other.underWay().size(), "READs from the home that answers");
    }

    @Test
    void shouldFreeStagingMemoryWhenLinkBreaksAndFetchAgainLater() {
        RecordingKernel kernel = serve("one");
        connect("one", one);
        touch(kernel, 0, PAGES);
        run(64);
        assertTrue(pool.stagingFrames().available() < 4);
        one.flush(WcStatus.RETRY_EXC_ERR);
        runUntil(() -> link("one").phase() == LinkPhase.DOWN);
        run(64);
        assertEquals(4, pool.stagingFrames().available(), "no thread's page holds a frame while its home is down");
        connect("one", one);
        runUntil(() -> {
            if (!one.underWay().isEmpty()) {
                one.complete();
            }
            return kernel.calls.stream().filter(call -> call.startsWith("copy")).count() == PAGES;
        });
    }

    /** A home that was silent for a whole connection shows with one READ that it answers. */
    @Test
    void shouldProbeWithOneReadWhenLinkOfSilentHomeIsBack() {
        RecordingKernel kernel = serve("one");
        connect("one", one);
        touch(kernel, 0, PAGES);
        run(64 * 4);
        one.flush(WcStatus.RETRY_EXC_ERR);
        runUntil(() -> link("one").phase() == LinkPhase.DOWN);
        connect("one", one);
        run(64);
        assertEquals(1, one.underWay().size());
    }

    private void run(int cycles) {
        for (int cycle = 0; cycle < cycles; cycle++) {
            now += cycle % 64 == 0 ? SECOND / 20 : 0;
            shard.doWork();
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                if (notice instanceof ShardNotice.Released released) {
                    released.queuePair().close();
                    shard.submit(new ShardCommand.Destroyed(released.link(), released.attempt()));
                }
            }
        }
    }

    private void runUntil(BooleanSupplier holds) {
        for (int turn = 0; turn < 200 && !holds.getAsBoolean(); turn++) {
            run(64);
        }
        assertTrue(holds.getAsBoolean());
    }
}
