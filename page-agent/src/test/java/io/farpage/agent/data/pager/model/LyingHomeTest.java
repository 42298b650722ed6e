package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.PagerBacking;
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
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A home that gives other pages than the agent has sealed: they are poisoned, and no thread ever sees what they hold.
 */
class LyingHomeTest {
    private static final int PAGES = 4;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, 8);
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final PeerLink link = new PeerLink("home");
    private final RecordingKernel kernel = new RecordingKernel();
    private final SimulatedSeal seal = new SimulatedSeal(PAGES);
    private final long[] before = new long[PAGES];
    private long now = SECOND;
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> now, () -> {});

    /** Pages 0 to 2 are at the home in their newest version; page 3 was never written. */
    private Pager pager() {
        PageSeal earlier = seal.begin();
        MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
        for (int page = 0; page < PAGES - 1; page++) {
            for (int version = 1; version <= 2; version++) {
                before[page] = network.home(page);
                word.set(ValueLayout.JAVA_LONG, 0, 100L * page + version);
                earlier.seal(page, word.address(), word.address());
                network.home(page, word.get(ValueLayout.JAVA_LONG, 0));
            }
        }
        ModelPool.reset(setup);
        var map = ModelPool.map(setup, "home", "home");
        return new Pager(
                new PagedGuest(
                        "sealed",
                        kernel,
                        null,
                        List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        PresenceMap.unknown(PAGES),
                        Pins.NONE,
                        seal.begin(),
                        null,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        () -> map,
                        node -> link,
                        shard.newFetcher(4, 60 * SECOND),
                        ModelPool.pool(setup)),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
    }

    private Pager fault(int page) {
        Pager pager = pager();
        shard.submit(new ShardCommand.AddCycle(pager));
        connect();
        kernel.messages = messages -> messages.fault(RecordingKernel.BASE + (long) page * Memory.PAGE, false, false);
        return pager;
    }

    @Test
    void shouldInstallThePageThatWasSealedLast() {
        Pager pager = fault(1);
        fetched();
        turnUntil(() -> kernel.calls.contains("copy writable 1"));
        assertEquals(0, pager.counters().integrityFailures().get());
        assertEquals(0, pager.status().lostPages());
    }

    @ParameterizedTest
    @ValueSource(strings = {"flip", "replay", "swap", "zero"})
    void shouldPoisonAPageThatItsHomeHasAltered(String lie) {
        Pager pager = fault(1);
        turnUntil(() -> !network.underWay().isEmpty());
        network.home(
                1,
                switch (lie) {
                    case "flip" -> network.home(1) ^ 1L << 17;
                    case "replay" -> before[1];
                    case "swap" -> network.home(2);
                    default -> 0;
                });
        network.complete();
        turnUntil(() -> kernel.calls.contains("poison 1"));
        assertEquals(List.of("poison 1"), kernel.calls, "nothing was installed, and the page was fetched once");
        assertEquals(1, pager.counters().integrityFailures().get());
        assertEquals(1, pager.status().lostPages());
    }

    @Test
    void shouldNotOpenAPageThatWasGivenUpAndSealedAnew() {
        Pager pager = fault(1);
        turnUntil(() -> !network.underWay().isEmpty());
        long page = RecordingKernel.BASE + Memory.PAGE;
        kernel.messages = messages -> messages.removal(page, page + Memory.PAGE);
        turnUntil(() -> pager.counters().removed().get() == 1);
        MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
        seal.begin().seal(1, word.address(), word.address());
        network.complete();
        turnUntil(() ->
                pager.status().remotePages() == PAGES - 2 && network.underWay().isEmpty());
        for (int turn = 0; turn < 10; turn++) {
            shard.doWork();
        }
        assertEquals(0, pager.counters().integrityFailures().get());
        assertEquals(0, pager.status().lostPages());
    }

    @Test
    void shouldGiveZerosWithoutAFetchForAPageThatWasNeverSealed() {
        network.home(PAGES - 1, 4711);
        Pager pager = fault(PAGES - 1);
        turnUntil(() -> pager.counters().zeros().get() == 1);
        assertTrue(network.underWay().isEmpty());
        assertEquals(0, pager.counters().integrityFailures().get());
        assertEquals(PAGES - 1, pager.status().remotePages());
    }

    private void fetched() {
        turnUntil(() -> !network.underWay().isEmpty());
        network.complete();
    }

    private void connect() {
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(network.connect(), network.rail(), SimulatedNetwork.INCARNATION, network.memory(), 1)));
        turnUntil(() ->
                !network.underWay().isEmpty() && network.underWay().getFirst().isHeader());
        network.complete();
        turnUntil(() -> link.phase() == LinkPhase.UP);
    }

    private void turnUntil(BooleanSupplier holds) {
        for (int turn = 0; turn < 64 * 100 && !holds.getAsBoolean(); turn++) {
            now += turn % 64 == 0 ? SECOND / 10 : 0;
            shard.doWork();
        }
        assertEquals(true, holds.getAsBoolean(), link + ", " + kernel.calls);
    }
}
