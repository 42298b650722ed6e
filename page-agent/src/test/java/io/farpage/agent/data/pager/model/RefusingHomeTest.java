package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A home that has lost nothing and refuses a request, as if its MTU or READ depth differed. */
class RefusingHomeTest {
    private static final int PAGES = 4;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, 8);
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final PeerLink link = new PeerLink("home");
    private final RecordingKernel kernel = new RecordingKernel();
    private SpaceMap map = ModelPool.map(setup, "home", "home");
    private long now = SECOND;
    private long attempts;
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> now, () -> {});

    @ParameterizedTest
    @EnumSource(names = {"REM_ACCESS_ERR", "REM_INV_REQ_ERR"})
    void shouldFetchPageAgainWhenHealthyHomeRefuses(WcStatus refusal) {
        ModelPool.reset(setup);
        Pager pager = serve(shard.newFetcher(4, 60 * SECOND));
        kernel.messages = messages -> messages.fault(RecordingKernel.BASE, false, false);
        for (int refusals = 0; refusals < 4; refusals++) {
            connect();
            runUntil(() -> !network.underWay().isEmpty());
            network.flush(refusal);
            runUntil(() -> link.phase() == LinkPhase.DOWN);
        }
        assertEquals(0, pager.counters().lost().get(), "the home still has the page");
        connect();
        runUntil(() -> !network.underWay().isEmpty());
        network.complete();
        runUntil(() -> kernel.calls.contains("copy writable 0"));
        assertEquals(List.of("copy writable 0"), kernel.calls, "no page was poisoned");
        assertEquals(0, pager.counters().lost().get());
    }

    private Pager serve(Fetcher fetcher) {
        Pager pager = new Pager(
                new PagedGuest(
                        "refused",
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
                new PagerBacking(
                        ModelPool.NODE, ModelPool.INCARNATION, () -> map, node -> link, fetcher, ModelPool.pool(setup)),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
        shard.submit(new ShardCommand.AddCycle(pager));
        return pager;
    }

    /** The space was deleted, or another node has taken it over: its homes refuse what is posted from now on. */
    @Test
    void shouldPostNothingThatWaitedForAKeyWhenThePagesAreLost() {
        ModelPool.reset(setup);
        Fetcher fetcher = shard.newFetcher(4, 60 * SECOND);
        serve(fetcher);
        PeerMemory memory = network.memory();
        connect(new PeerMemory(
                memory.pool(), memory.headerAddress(), memory.headerRkey(), memory.device(), GrantedRanges.NOTHING));
        kernel.messages = messages -> messages.fault(RecordingKernel.BASE, false, false);
        runUntil(() -> fetcher.inUse() == 1);
        map = map.lost();
        runUntil(() -> fetcher.inUse() == 0);
        assertEquals(LinkPhase.UP, link.phase(), "other guests use it");
        assertEquals(List.of(), network.underWay());
    }

    private void connect() {
        connect(network.memory());
    }

    private void connect(PeerMemory memory) {
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(network.connect(), network.rail(), SimulatedNetwork.INCARNATION, memory, ++attempts)));
        runUntil(() ->
                !network.underWay().isEmpty() && network.underWay().getFirst().isHeader());
        network.complete();
        runUntil(() -> link.phase() == LinkPhase.UP);
    }

    /** Runs duty cycles; a tenth of a second passes each time the shard reads the clock. */
    private void runUntil(BooleanSupplier holds) {
        for (int cycle = 0; cycle < 64 * 100 && !holds.getAsBoolean(); cycle++) {
            now += cycle % 64 == 0 ? SECOND / 10 : 0;
            shard.doWork();
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                if (notice instanceof ShardNotice.Released released) {
                    released.queuePair().close();
                    shard.submit(new ShardCommand.Destroyed(released.link(), released.attempt()));
                }
            }
        }
        assertEquals(true, holds.getAsBoolean(), link.toString());
    }
}
