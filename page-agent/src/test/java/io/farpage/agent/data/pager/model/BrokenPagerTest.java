package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.GuestRegion;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.Pins;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.WorkingSet;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.linux.Errno;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A pager whose kernel throws in the middle of a duty cycle. */
class BrokenPagerTest {
    private static final long BASE = RecordingKernel.BASE;
    private static final int PAGES = 8;

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, 8);
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {});
    private final RecordingKernel kernel = new RecordingKernel();
    private final List<PagerEnd> ended = new ArrayList<>();
    private Pager pager;

    @BeforeEach
    void begin() {
        ModelPool.reset(setup);
        var map = ModelPool.map(setup, "home", "home");
        pager = new Pager(
                new Pager.Guest(
                        "broken",
                        kernel,
                        null,
                        List.of(new GuestRegion(BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        WorkingSet.EMPTY,
                        Pins.NONE,
                        null),
                new Pager.Backing(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        () -> map,
                        node -> new PeerLink(node),
                        shard.newFetcher(4, 1),
                        ModelPool.pool(setup)),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                System::nanoTime,
                ended::add);
        shard.submit(new ShardCommand.AddCycle(pager));
    }

    @Test
    void shouldPoisonFaultingPagesAndKeepUserfaultfdWhenDutyCycleThrows() {
        kernel.thrown = new IllegalStateException("for a test");
        shard.doWork();
        assertTrue(ended.isEmpty(), "closing the userfaultfd would let the guest read zeros");
        assertEquals(RecordingKernel.FD, pager.fileDescriptor());

        kernel.messages = messages -> {
            messages.fault(BASE + 3 * Memory.PAGE + 8, false, false);
            messages.removal(BASE, BASE + Memory.PAGE);
            messages.fault(BASE + 5 * Memory.PAGE, true, true);
        };
        shard.doWork();
        assertEquals(
                List.of("poison 3", "unprotect 5"),
                kernel.calls,
                "SIGBUS for a page that is not resident; a store to a resident one succeeds");
        shard.doWork();
        assertEquals(2, kernel.calls.size());
    }

    @Test
    void shouldClearMarkerWhenPoisoningMeetsOneAndWakeWhenEventWaits() {
        kernel.thrown = new IllegalStateException("for a test");
        shard.doWork();
        kernel.messages = messages -> messages.fault(BASE, false, false);
        kernel.refuse(Errno.EEXIST);
        shard.doWork();
        assertEquals(List.of("poison 0", "unprotect 0", "poison 0"), kernel.calls);

        kernel.calls.clear();
        kernel.messages = messages -> messages.fault(BASE, false, false);
        kernel.refuse(Errno.EAGAIN);
        shard.doWork();
        assertEquals(List.of("poison 0", "wake 0"), kernel.calls);
    }

    @Test
    void shouldEndUnsavedWhenVmmHasEnded() {
        kernel.thrown = new AssertionError("for a test");
        shard.doWork();
        kernel.messages = messages -> messages.fault(BASE, false, false);
        kernel.refuse(Errno.ESRCH);
        shard.doWork();
        shard.doWork();
        assertEquals(1, ended.size());
        assertFalse(ended.getFirst().saved());
        assertEquals(
                "its pager threw java.lang.AssertionError: for a test",
                ended.getFirst().reason());
        assertEquals(-1, pager.fileDescriptor());
    }
}
