package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.PagerBacking;
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
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a pager reads messages, and when its shard's thread may sleep. */
class PagerCyclesTest {
    private static final int PAGES = 8;

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 5, 16);
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> 1, () -> {});
    private final RecordingKernel kernel = new RecordingKernel();
    /** One page at a time is prefetched. */
    private final PeerLink link = new PeerLink("home", 1);

    private Pager pager;

    @BeforeEach
    void begin() {
        begin(PresenceMap.unknown(PAGES));
        kernel.reads = 0;
    }

    /** @param presence pages that the homes have */
    private void begin(PresenceMap presence) {
        ModelPool.reset(setup);
        var map = ModelPool.map(setup, "home", "home");
        pager = new Pager(
                new PagedGuest(
                        "guest",
                        kernel,
                        null,
                        List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        presence,
                        Pins.NONE,
                        null,
                        null,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        () -> map,
                        node -> link,
                        shard.newFetcher(5, Long.MAX_VALUE / 4),
                        ModelPool.pool(setup),
                        ModelPool.shares(setup),
                        Mirroring.NONE),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> 1,
                _ -> {});
        shard.submit(new ShardCommand.AddCycle(pager));
        if (link.phase() == LinkPhase.UP) {
            return;
        }
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(network.connect(), network.rail(), SimulatedNetwork.INCARNATION, network.memory(), 1)));
        for (int cycle = 0; cycle < 200 && link.phase() != LinkPhase.UP; cycle++) {
            shard.doWork();
            if (!network.underWay().isEmpty()) {
                network.complete();
            }
        }
        assertEquals(LinkPhase.UP, link.phase());
    }

    private void fault(int... pages) {
        kernel.messages = messages -> {
            for (int page : pages) {
                messages.fault(RecordingKernel.BASE + (long) page * Memory.PAGE, false, false);
            }
        };
        pager.slept();
    }

    private void arrive() {
        network.complete();
        shard.doWork();
    }

    @Test
    void shouldBeQuiescentWhenOnlyAFaultWasHandled() {
        fault(3);
        shard.doWork();
        assertEquals(1, network.underWay().size());
        assertTrue(pager.isQuiescent(), "the READ is under way");
        arrive();
        assertEquals(List.of("copy writable 3"), kernel.calls);
        assertTrue(pager.isQuiescent(), "the page is installed");
    }

    @Test
    void shouldNotReadMessagesWhenDescriptorWasNotReadable() {
        fault(3);
        pager.polled(false);
        shard.doWork();
        assertEquals(0, network.underWay().size(), "no message was announced");
        shard.doWork();
        assertEquals(1, network.underWay().size(), "the next duty cycle looks by itself");
    }

    @Test
    void shouldReadMessagesWhenDescriptorWasReadable() {
        pager.polled(false);
        fault(3);
        pager.polled(true);
        shard.doWork();
        assertEquals(1, network.underWay().size());
    }

    @Test
    void shouldNotBeQuiescentWhenAFaultWaits() {
        fault(0, 1, 2, 3, 4, 5);
        shard.doWork();
        assertEquals(5, network.underWay().size());
        assertFalse(pager.isQuiescent(), "no slot is free for page 5");
    }

    /** The rest of the cycle may find work, which is done in the next call of the shard. */
    @Test
    void shouldNotBeQuiescentWhenOnlyItsUrgentPartWasDone() {
        fault(3);
        pager.doUrgentWork();
        assertFalse(pager.isQuiescent());
        pager.doWork();
        assertTrue(pager.isQuiescent());
    }

    @Test
    void shouldServeFaultsInTheUrgentPart() {
        fault(3);
        assertEquals(1, pager.doUrgentWork());
        assertEquals(1, kernel.reads);
        pager.doWork();
        assertEquals(1, kernel.reads, "the cycle has read them");
    }

    @Test
    void shouldLeaveTheNextFaultToTheDescriptorWhenTheyComeOneByOne() {
        fault(3);
        shard.doWork();
        arrive();
        assertEquals(1, kernel.reads);
        fault(4);
        shard.doWork();
        assertEquals(2, kernel.reads);
        assertEquals(1, network.underWay().size());
    }

    @Test
    void shouldLookForFaultsAtOnceWhenSeveralCame() {
        fault(3, 4);
        shard.doWork();
        arrive();
        assertEquals(2, kernel.reads, "page 4 is under way");
        arrive();
        assertEquals(3, kernel.reads, "the latest read found two");
    }

    /** What came while the thread did not sleep is found without the descriptor, one cycle later. */
    @Test
    void shouldReadInTheSecondCycleWhenTheThreadDoesNotSleep() {
        fault(3);
        shard.doWork();
        shard.doWork();
        assertEquals(1, kernel.reads);
        shard.doWork();
        assertEquals(2, kernel.reads);
    }

    @Test
    void shouldReadInTheFirstCycleWhenTheThreadHasSlept() {
        fault(3);
        shard.doWork();
        fault(4);
        shard.doWork();
        assertEquals(2, kernel.reads);
        assertEquals(2, network.underWay().size());
    }

    /** Pages 0 and 2 were in the memory of the guest before. */
    @Test
    void shouldFetchPrefetchedPageAtOnceWhenAThreadWantsIt() {
        shard.submit(new ShardCommand.RemoveCycle(pager));
        PresenceMap wanted = PresenceMap.zeros(PAGES);
        wanted.set(0, PresenceMap.WANTED);
        wanted.set(2, PresenceMap.WANTED);
        begin(wanted);
        shard.doWork();
        shard.doWork();
        assertEquals(1, network.underWay().size(), "page 2 waits for page 0");
        fault(2);
        shard.doWork();
        assertEquals(2, network.underWay().size());
    }
}
