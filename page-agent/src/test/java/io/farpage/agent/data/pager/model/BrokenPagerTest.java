package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
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
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A pager whose kernel throws in the middle of a duty cycle. */
class BrokenPagerTest {
    private static final long BASE = RecordingKernel.BASE;
    private static final int PAGES = 8;

    private static final int SLOTS = 8;
    private static final int FRAMES = 16;

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, SLOTS, FRAMES);
    private final long now = 1_000_000_000;
    private final SimulatedNetwork network = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final Shard shard =
            new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> now, () -> {});
    private final RecordingKernel kernel = new RecordingKernel();
    private final PeerLink link = new PeerLink("home");
    private final List<PagerEnd> ended = new ArrayList<>();

    @BeforeEach
    void emptyPool() {
        ModelPool.reset(setup);
    }

    /** @param file of memory that is shared; null if it is private */
    private Pager begin(@Nullable GuestFile file) {
        var map = ModelPool.map(setup, "home", "home");
        Pager pager = new Pager(
                new PagedGuest(
                        "broken",
                        kernel,
                        file,
                        List.of(new GuestRegion(BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        PresenceMap.unknown(PAGES),
                        Pins.NONE,
                        null,
                        null,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        () -> map,
                        node -> link,
                        shard.newFetcher(SLOTS, Long.MAX_VALUE / 4),
                        ModelPool.pool(setup),
                        ModelPool.shares(setup),
                        Mirroring.NONE),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 4),
                () -> now,
                ended::add);
        shard.submit(new ShardCommand.AddCycle(pager));
        return pager;
    }

    @Test
    void shouldPoisonFaultingPagesAndNotCloseWhenDutyCycleThrows() {
        Pager pager = begin(null);
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
        begin(null);
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
        Pager pager = begin(null);
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

    @Test
    void shouldFreeSlotsAndFramesOfArrivedPagesWhenDutyCycleThrows() {
        fetchOfPagerAndChild();
        kernel.refuse(Errno.EAGAIN, Errno.EAGAIN);
        kernel.thrown = new IllegalStateException("for a test");
        shard.doWork();
        assertEquals(List.of("copy writable 0", "copy writable 1*3"), kernel.calls);
        assertEquals(FRAMES - 1, ModelPool.freePages(setup), "a frame that the home may write to stays");
        expectEndWithAllFramesFree();
    }

    @Test
    void shouldGiveBackSlotsAndFramesWhenInstallingThrows() {
        fetchOfPagerAndChild();
        kernel.before = () -> {
            kernel.before = () -> {};
            throw new IllegalStateException("for a test");
        };
        shard.doWork();
        assertEquals(FRAMES - 1, ModelPool.freePages(setup), "a frame that the home may write to stays");
        expectEndWithAllFramesFree();
    }

    @Test
    void shouldGiveBackFramesOfWriteBackWhenReadingMemoryThrows() {
        Pager pager = begin(new GuestFile() {
            @Override
            public long read(long offset, long address, long length) {
                assertEquals(FRAMES - 1, ModelPool.freePages(setup));
                throw new IllegalStateException("for a test");
            }

            @Override
            public int punchHole(long offset, long length) {
                return 0;
            }

            @Override
            public long firstPage(long offset, long length) {
                return -Errno.ENXIO;
            }
        });
        connect();
        write(4);
        pager.finish("for a test");
        run();
        assertEquals(
                "its pager threw java.lang.IllegalStateException: for a test",
                ended.getFirst().reason());
        assertEquals(FRAMES, ModelPool.freePages(setup));
    }

    /** The guest writes to a page, which shows that the home answers. */
    private void write(int page) {
        kernel.messages = messages -> messages.fault(BASE + (long) page * Memory.PAGE, true, false);
        run();
        network.complete();
        run();
        assertEquals(List.of("copy writable " + page), kernel.calls);
        kernel.calls.clear();
    }

    /** Pages 0 to 3 arrive for the guest, in two runs, and page 7 for its private child. Page 6 is under way. */
    private void fetchOfPagerAndChild() {
        begin(null);
        connect();
        write(4);
        RecordingKernel child = new RecordingKernel();
        kernel.forks.add(child);
        kernel.messages = messages -> messages.fork(RecordingKernel.FD + 1);
        run();
        kernel.messages = messages -> {
            for (int page = 0; page < 4; page++) {
                messages.fault(BASE + (long) page * Memory.PAGE, false, false);
            }
        };
        child.messages = messages -> messages.fault(BASE + 7 * Memory.PAGE, false, false);
        run();
        kernel.messages = messages -> messages.fault(BASE + 6 * Memory.PAGE, false, false);
        run();
        assertEquals(4, network.underWay().size());
        for (int transfer = 0; transfer < 3; transfer++) {
            network.complete();
        }
    }

    private void expectEndWithAllFramesFree() {
        kernel.messages = messages -> messages.fault(BASE + 5 * Memory.PAGE, false, false);
        kernel.refuse(Errno.ESRCH);
        run();
        assertEquals(FRAMES - 1, ModelPool.freePages(setup), "a frame that the home may write to stays");
        assertTrue(ended.isEmpty());
        network.complete();
        run();
        assertEquals(1, ended.size(), "the VMM has ended, and no transfer is under way");
        assertEquals(FRAMES, ModelPool.freePages(setup));
    }

    /** Runs enough duty cycles for all that waits. */
    private void run() {
        for (int cycle = 0; cycle < 4; cycle++) {
            shard.doWork();
        }
    }

    private void connect() {
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
}
