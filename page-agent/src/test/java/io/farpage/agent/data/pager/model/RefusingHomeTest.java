package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.pager.GuestRegion;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.Pins;
import io.farpage.agent.data.pager.WorkingSet;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A home that is as it was and refuses a request, as one whose MTU or READ depth differs does. */
class RefusingHomeTest {
    private static final int PAGES = 4;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, 8);
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final PeerLink link = new PeerLink("home");
    private final NotingKernel kernel = new NotingKernel();
    private long now = SECOND;
    private long attempts;
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> now, () -> {});

    @ParameterizedTest
    @EnumSource(names = {"REM_ACCESS_ERR", "REM_INV_REQ_ERR"})
    void shouldFetchThePageAgainWhenAHealthyHomeRefusesIt(WcStatus refusal) {
        ModelPool.reset(setup);
        var map = ModelPool.map(setup, "home", "home");
        Pager pager = new Pager(
                new Pager.Guest(
                        "refused",
                        kernel,
                        null,
                        List.of(new GuestRegion(NotingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        WorkingSet.EMPTY,
                        Pins.NONE),
                new Pager.Backing(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        () -> map,
                        node -> link,
                        shard.newFetcher(4, 60 * SECOND),
                        ModelPool.pool(setup)),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
        shard.submit(new ShardCommand.SetIncarnation(link, SimulatedNetwork.INCARNATION));
        shard.submit(new ShardCommand.AddCycle(pager));
        kernel.says = messages -> messages.fault(NotingKernel.BASE, false, false);
        for (int refusals = 0; refusals < 4; refusals++) {
            connect();
            turnUntil(() -> !network.underWay().isEmpty());
            network.flush(refusal);
            turnUntil(() -> link.phase() == LinkPhase.DOWN);
        }
        assertEquals(0, pager.counters().lost().get(), "the home has not lost it");
        connect();
        turnUntil(() -> !network.underWay().isEmpty());
        network.complete();
        turnUntil(() -> kernel.asked.contains("copy 0"));
        assertEquals(List.of("copy 0"), kernel.asked, "nothing was poisoned");
        assertEquals(0, pager.counters().lost().get());
    }

    private void connect() {
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(
                        network.connect(),
                        network.rail(),
                        SimulatedNetwork.INCARNATION,
                        network.memory(),
                        ++attempts)));
        turnUntil(() ->
                !network.underWay().isEmpty() && network.underWay().getFirst().isHeader());
        network.complete();
        turnUntil(() -> link.phase() == LinkPhase.UP);
    }

    /** Turns the shard, a tenth of a second going by with each look at the clock. */
    private void turnUntil(BooleanSupplier holds) {
        for (int turn = 0; turn < 64 * 100 && !holds.getAsBoolean(); turn++) {
            now += turn % 64 == 0 ? SECOND / 10 : 0;
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
