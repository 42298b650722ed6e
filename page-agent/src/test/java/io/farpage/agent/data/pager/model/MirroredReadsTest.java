package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.pool.PagePool;
import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** From which of two homes a page is read, and which pages stay while a home is silent. */
class MirroredReadsTest {
    private static final int PAGES = 16;
    private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long BAD_BIT = 1L << 17;

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, World.MAX_FRAMES);
    private final SimulatedNetwork one = new SimulatedNetwork("one", PAGES, Memory.PAGE);
    private final SimulatedNetwork other = new SimulatedNetwork("other", PAGES, Memory.PAGE);
    private final Map<String, PeerLink> links = new HashMap<>();
    private final RecordingKernel kernel = new RecordingKernel();
    private final PagePool pool = ModelPool.pool(setup);
    private int punched;
    private long attempts;
    private long now = 1_000 * MILLISECOND;
    private final Shard shard = new Shard(
            List.of(one.rail(), other.rail()), Arena.ofAuto().allocate(2 * PoolHeader.BYTES), () -> now, () -> {});

    private PeerLink link(String node) {
        return links.computeIfAbsent(node, PeerLink::new);
    }

    private SpaceMap map(List<String> homes) {
        return ModelPool.mirrored(setup, homes, Optional.empty(), SpaceMap.Pull.NONE, false, 1);
    }

    /** Serves a guest each of whose pages has these homes, in the order of preference. */
    private Pager serve(List<String> homes, @Nullable PageSeal seal) {
        SpaceMap map = map(homes);
        // The node begins with another home than the first one of an extent.
        List<String> placed = new ArrayList<>(homes);
        Collections.rotate(placed, map.firstReader(0, ModelPool.NODE));
        SpaceMap preferred = map(placed);
        GuestFile file = new GuestFile() {
            @Override
            public long read(long offset, long address, long length) {
                return length;
            }

            @Override
            public int punchHole(long offset, long length) {
                punched++;
                return 0;
            }

            @Override
            public long firstPage(long offset, long length) {
                return -Errno.ENXIO;
            }
        };
        Pager pager = new Pager(
                new PagedGuest(
                        "mirrored",
                        kernel,
                        seal == null ? file : null,
                        List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        PresenceMap.unknown(PAGES),
                        Pins.NONE,
                        seal,
                        null,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        SimulatedNetwork.INCARNATION,
                        () -> preferred,
                        this::link,
                        shard.newFetcher(8, 60_000 * MILLISECOND),
                        pool,
                        ModelPool.shares(setup),
                        Mirroring.NONE),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
        shard.submit(new ShardCommand.AddCycle(pager));
        return pager;
    }

    /** Serves a guest of an encrypted space, whose pages are at both homes and in this node's own pool. */
    private Pager serveSealed(String... homes) {
        ModelPool.reset(setup);
        SimulatedSeal seal = new SimulatedSeal(PAGES);
        PageSeal earlier = seal.begin();
        MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
        for (int page = 0; page < PAGES; page++) {
            word.set(ValueLayout.JAVA_LONG, 0, 100L + page);
            earlier.seal(page, word.address(), word.address());
            long sealed = word.get(ValueLayout.JAVA_LONG, 0);
            one.home(page, sealed);
            other.home(page, sealed);
            Memory.version(pool.exportedAddress() + (long) page * Memory.PAGE, sealed);
        }
        return serve(List.of(homes), seal.begin());
    }

    private void touch(int... pages) {
        touch(false, pages);
    }

    private void touch(boolean write, int... pages) {
        kernel.messages = messages -> {
            for (int page : pages) {
                messages.fault(RecordingKernel.BASE + (long) page * Memory.PAGE, write, false);
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

    /** Fetches pages from homes that answer. */
    private void fetch(int page) {
        fetch(false, page);
    }

    private void fetch(boolean write, int page) {
        touch(write, page);
        runUntil(() -> {
            answer();
            return kernel.calls.stream().anyMatch(call -> call.endsWith(" " + page));
        });
    }

    private void answer() {
        for (SimulatedNetwork network : List.of(one, other)) {
            if (!network.underWay().isEmpty()) {
                network.complete();
            }
        }
    }

    @Test
    void shouldAskHomeThatAlteredAnotherPageBeforePageIsLost() {
        Pager pager = serveSealed("one", "other");
        connect("one", one);
        connect("other", other);
        one.home(1, one.home(1) ^ BAD_BIT);
        other.home(2, other.home(2) ^ BAD_BIT);
        fetch(1);
        fetch(2);
        assertEquals(List.of("copy writable 1", "copy writable 2"), kernel.calls);
        assertEquals(0, pager.status().lostPages());
    }

    @Test
    void shouldWaitForHomeThatIsDownWhenPageOfAnotherDoesNotOpen() {
        Pager pager = serveSealed("one", "other");
        connect("one", one);
        one.home(1, one.home(1) ^ BAD_BIT);
        touch(1);
        for (int turn = 0; turn < 100; turn++) {
            answer();
            run(64);
        }
        assertEquals(List.of(), kernel.calls);
        assertEquals(0, pager.status().lostPages());
        connect("other", other);
        runUntil(() -> {
            answer();
            return kernel.calls.contains("copy writable 1");
        });
    }

    @Test
    void shouldAskAnotherHomeWhenPageInOwnPoolDoesNotOpen() {
        Pager pager = serveSealed(ModelPool.NODE, "other");
        connect("other", other);
        long address = pool.exportedAddress() + Memory.PAGE;
        Memory.version(address, Memory.version(address) ^ BAD_BIT);
        fetch(1);
        assertEquals(List.of("copy writable 1"), kernel.calls);
        assertEquals(0, pager.status().lostPages());
    }

    @Test
    void shouldLosePageOnlyWhenItOpensFromNoHome() {
        Pager pager = serveSealed("one", "other");
        connect("one", one);
        connect("other", other);
        one.home(1, one.home(1) ^ BAD_BIT);
        other.home(1, other.home(1) ^ BAD_BIT);
        fetch(1);
        assertEquals(List.of("poison 1"), kernel.calls);
        assertEquals(1, pager.status().lostPages());
    }

    @Test
    void shouldPreferHomeAgainAMinuteAfterItAlteredPage() {
        serveSealed("one", "other");
        connect("one", one);
        connect("other", other);
        one.home(1, one.home(1) ^ BAD_BIT);
        fetch(1);
        touch(2);
        runUntil(() -> !other.underWay().isEmpty());
        answer();
        runUntil(() -> kernel.calls.contains("copy writable 2"));
        now += TimeUnit.MINUTES.toNanos(1);
        touch(3);
        runUntil(() -> !one.underWay().isEmpty());
    }

    /** The queue pair of a device that has failed: nothing completes, and nothing is flushed. */
    @Test
    void shouldReadFromAnotherHomeWhenTransferOfDrainingLinkHangs() {
        serveSealed("one", "other");
        connect("one", one);
        long attempt = attempts;
        connect("other", other);
        touch(1);
        runUntil(() -> !one.underWay().isEmpty());
        one.flush(WcStatus.WR_FLUSH_ERR);
        one.forget();
        shard.submit(new ShardCommand.Remove(link("one"), attempt, "its device has failed"));
        runUntil(() -> link("one").phase() == LinkPhase.DRAINING);
        runUntil(() -> !other.underWay().isEmpty());
        answer();
        runUntil(() -> kernel.calls.contains("copy writable 1"));
    }

    /** It may turn out to be lost, and then its resident pages are the only copies. */
    @Test
    void shouldKeepCleanPagesResidentWhileHomeThatIsUpDoesNotAnswer() {
        ModelPool.reset(setup);
        Pager pager = serve(List.of("one"), null);
        connect("one", one);
        for (int page = 0; page < PAGES / 2; page++) {
            fetch(page);
        }
        touch(PAGES / 2);
        runUntil(() -> !one.underWay().isEmpty());
        now += 200 * MILLISECOND;
        run(64);
        pager.resize(2);
        run(64);
        assertEquals(0, punched, "runs of clean pages that were evicted");
        one.complete();
        runUntil(() -> punched > 0);
    }

    /** To protect one costs a flush of the TLBs, and each store of the guest to it a fault. */
    @Test
    void shouldNotProtectDirtyPagesWhileHomeThatIsUpDoesNotAnswer() {
        ModelPool.reset(setup);
        Pager pager = serve(List.of("one"), null);
        connect("one", one);
        for (int page = 0; page < PAGES / 2; page++) {
            fetch(true, page);
        }
        assertEquals(PAGES / 2, pager.status().dirtyPages());
        touch(PAGES / 2);
        runUntil(() -> !one.underWay().isEmpty());
        now += 200 * MILLISECOND;
        run(64);
        pager.resize(2);
        run(64);
        assertEquals(0, protections(), "runs of dirty pages that were protected");
        one.complete();
        runUntil(() -> protections() > 0);
    }

    private long protections() {
        return kernel.calls.stream().filter(call -> call.startsWith("protect")).count();
    }

    private void run(int cycles) {
        for (int cycle = 0; cycle < cycles; cycle++) {
            now += cycle % 64 == 0 ? 5 * MILLISECOND : 0;
            shard.doWork();
        }
    }

    private void runUntil(BooleanSupplier holds) {
        for (int turn = 0; turn < 100 && !holds.getAsBoolean(); turn++) {
            run(64);
        }
        assertTrue(holds.getAsBoolean(), () -> links + ", " + kernel.calls);
    }
}
