package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How much readahead, write-back and copies may be under way to a peer before a fault. */
class BulkWindowTest {
    private static final int PAGE = 4096;
    private static final int RUN = PeerLink.BULK_WINDOW / 2;
    private static final long DEADLINE = TimeUnit.SECONDS.toNanos(2);

    private final MemorySegment frame = Arena.ofAuto().allocate(PoolHeader.BYTES, 8);
    private final ScriptedHome home = new ScriptedHome(frame);
    private final PeerLink link = new PeerLink(ScriptedHome.NODE);
    private long now;
    private final Shard shard = new Shard(List.of(home.rail()), frame, () -> now, () -> {});
    private final Fetcher fetcher = shard.newFetcher(8, DEADLINE);

    @BeforeEach
    void connect() {
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(
                        home.queuePair(), shard.devices().getFirst(), ScriptedHome.INCARNATION, home.memory(), 1)));
        shard.doWork();
        home.answerHeader(home.posted.getLast());
        shard.doWork();
        home.posted.clear();
    }

    private int read(Fetcher with, Priority how, int bytes) {
        return with.read(how, link, ScriptedHome.INCARNATION, 0, bytes, 0);
    }

    private int posted() {
        shard.doWork();
        return home.posted.size();
    }

    @Test
    void shouldPostBulkWhenLessThanTheWindowIsUnderWay() {
        for (int i = 0; i < 4; i++) {
            read(fetcher, Priority.BULK, RUN);
        }
        assertEquals(2, posted());
        home.answer(home.posted.getFirst(), WcStatus.SUCCESS);
        assertEquals(3, posted());
    }

    @Test
    void shouldPostTheFirstTransferWhenItIsLargerThanTheWindow() {
        read(fetcher, Priority.BULK, 2 * PeerLink.BULK_WINDOW);
        read(fetcher, Priority.BULK, PAGE);
        assertEquals(1, posted());
        home.answer(home.posted.getFirst(), WcStatus.SUCCESS);
        assertEquals(2, posted());
    }

    @Test
    void shouldCountWritesAsBulk() {
        fetcher.write(link, ScriptedHome.INCARNATION, 0, PeerLink.BULK_WINDOW, 0);
        read(fetcher, Priority.BULK, PAGE);
        assertEquals(1, posted());
    }

    @Test
    void shouldPostDemandWhenTheWindowIsFull() {
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        read(fetcher, Priority.BULK, PAGE);
        read(fetcher, Priority.DEMAND, RUN);
        assertEquals(2, posted());
        read(fetcher, Priority.DEMAND, RUN);
        assertEquals(3, posted(), "demand does not fill the window");
    }

    @Test
    void shouldPostWaitingTransferWhenAThreadWantsIt() {
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        int waiting = read(fetcher, Priority.BULK, RUN);
        assertEquals(1, posted());

        fetcher.hurry(waiting);

        assertEquals(2, posted());
        home.answer(home.posted.get(1), WcStatus.SUCCESS);
        shard.doWork();
        assertEquals(waiting, fetcher.poll());
        assertFalse(link.hasRoomForBulk(), "it counted as demand when it completed");
    }

    @Test
    void shouldLeavePostedTransferWhenAThreadWantsIt() {
        int bulk = read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        shard.doWork();
        fetcher.hurry(bulk);
        home.answer(home.posted.getFirst(), WcStatus.SUCCESS);
        shard.doWork();
        assertTrue(link.hasRoomForBulk());
    }

    @Test
    void shouldTakeTurnsWhenSeveralFetchersWait() {
        Fetcher other = shard.newFetcher(8, DEADLINE);
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        int last = read(other, Priority.BULK, PeerLink.BULK_WINDOW);
        for (int i = 0; i < 7; i++) {
            read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        }
        for (int i = 0; i < 3 && other.inUse() > 0; i++) {
            posted();
            home.answer(home.posted.getLast(), WcStatus.SUCCESS);
            shard.doWork();
            release(fetcher);
            release(other);
            read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        }
        assertEquals(FetchStatus.OK, other.status(last), "the other fetcher refills the window each time");
    }

    @Test
    void shouldTakeTurnsWhenLowSlotsAreBegunAgain() {
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        int last = read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        for (int i = 0; i < 3; i++) {
            posted();
            home.answer(home.posted.getLast(), WcStatus.SUCCESS);
            shard.doWork();
            if (i < 2) {
                release(fetcher);
                read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
            }
        }
        assertEquals(FetchStatus.OK, fetcher.status(last), "those that were begun later have lower slots");
    }

    private static void release(Fetcher from) {
        for (int slot = from.poll(); slot != Fetcher.NONE; slot = from.poll()) {
            from.release(slot);
        }
    }

    @Test
    void shouldNotEndWaitingTransferWhileItsLinkAnswers() {
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        read(fetcher, Priority.BULK, PeerLink.BULK_WINDOW);
        int waiting = read(fetcher, Priority.BULK, RUN);
        advance(DEADLINE * 3 / 4);
        home.answer(home.posted.getLast(), WcStatus.SUCCESS);
        advance(DEADLINE / 2);
        assertEquals(2, home.posted.size());
        assertEquals(FetchStatus.PENDING, fetcher.status(waiting), "it has waited longer than a transfer may take");
        assertEquals(LinkPhase.UP, link.phase());
    }

    @Test
    void shouldEndWaitingTransferWhenItsLinkFails() {
        fetcher.readFailingFast(Priority.BULK, link, ScriptedHome.INCARNATION, 0, PeerLink.BULK_WINDOW, 0);
        int waiting = fetcher.readFailingFast(Priority.BULK, link, ScriptedHome.INCARNATION, 0, RUN, 0);
        shard.doWork();
        shard.failLink(link, "for a test");
        home.answer(home.posted.getLast(), WcStatus.WR_FLUSH_ERR);
        shard.doWork();
        assertEquals(FetchStatus.UNREACHABLE, fetcher.status(waiting));
    }

    /** Lets time pass in steps that count in full. */
    private void advance(long nanos) {
        long end = now + nanos;
        while (now < end) {
            now = Math.min(end, now + TimeUnit.MILLISECONDS.toNanos(50));
            shard.doWork();
        }
    }
}
