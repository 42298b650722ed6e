package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Transfers of a fetcher: completed, parked and posted again, refused, past their deadline. */
final class FetcherTest extends ShardFixture {
    @Test
    void shouldMovePagesWhenPeerIsVerified() {
        connect(1, Home.INCARNATION);
        shard.doWork();
        assertEquals(LinkPhase.VERIFYING, link.phase());
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        assertEquals(1, notices);

        home.pool.exported().set(ValueLayout.JAVA_LONG, 3 * PAGE, 0x1234);
        int slot = read(3);
        runUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
        assertEquals(0x1234, node.pool.staging().get(ValueLayout.JAVA_LONG, 3 * PAGE));
    }

    @Test
    void shouldEndTransferAtDeadlineWhenLinkIsDown() {
        int slot = read(0);
        advance(DEADLINE);
        assertFalse(fetcher.hasDone());
        advance(TimeUnit.MILLISECONDS.toNanos(1));
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
    }

    @Test
    void shouldPostTransfersAgainWhenQueuePairIsReplaced() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        List<Integer> slots = List.of(read(0), read(1), read(2));
        shard.submit(new ShardCommand.Remove(link, 99, "another attempt"));
        shard.submit(new ShardCommand.Remove(link, 1, "removed"));
        shard.doWork();
        assertEquals(LinkPhase.DRAINING, link.phase());
        ShardNotice.Released notice = destroyReleased();
        assertEquals("removed", notice.reason());
        assertEquals(LinkPhase.DOWN, link.phase());
        assertFalse(shard.hasDeadlines() && !fetcher.hasParked(), "no transfer is posted");
        assertEquals(3, fetcher.inUse());

        connect(2, Home.INCARNATION);
        List<Integer> done = new ArrayList<>();
        runUntil(() -> {
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                assertEquals(FetchStatus.OK, fetcher.status(slot));
                done.add(slot);
            }
            return done.size() == 3;
        });
        assertTrue(done.containsAll(slots), "completed " + done + " of " + slots);
        assertTrue(fetcher.replays().get() >= 1, "parked when the first queue pair drained");
    }

    @Test
    void shouldPostNothingToAnotherPoolThanTheTransferNames() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        long pool = Home.INCARNATION + 1;
        int overLink = fetcher.readOverLink(Priority.DEMAND, link, pool, 0, PAGE, node.pool.stagingAddress());
        assertEquals(overLink, fetcher.poll());
        assertEquals(FetchStatus.UNREACHABLE, fetcher.status(overLink), "as if the link was down");
        int waiting = fetcher.read(Priority.DEMAND, link, pool, 0, PAGE, node.pool.stagingAddress());
        advance(DEADLINE + 1);
        assertEquals(waiting, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(waiting), "what is lost, the coordinator says");
        assertEquals(LinkPhase.UP, link.phase());
    }

    @Test
    void shouldCompleteOnlyPostedWorkWhenATransferIsWithdrawn() {
        int waiting = read(0);
        fetcher.withdraw(waiting);
        assertEquals(waiting, fetcher.poll());
        assertEquals(FetchStatus.UNREACHABLE, fetcher.status(waiting));
        fetcher.release(waiting);
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        int posted = read(1);
        fetcher.withdraw(posted);
        runUntil(fetcher::hasDone);
        assertEquals(posted, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(posted));
        assertEquals(LinkPhase.UP, link.phase(), "others use it");
    }

    @Test
    void shouldEndAWithdrawnTransferWithItsLink() {
        connect(1, Home.INCARNATION, wrongKey());
        runUntil(() -> link.phase() == LinkPhase.UP);
        int posted = read(1);
        fetcher.withdraw(posted);
        destroyReleased();
        assertEquals(posted, fetcher.poll());
        assertEquals(FetchStatus.UNREACHABLE, fetcher.status(posted), "it is not posted on the next link");
    }

    @Test
    void shouldParkTransferUntilDeadlineWhenItReachesBeyondGrant() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = fetcher.read(Priority.DEMAND, link, Home.INCARNATION, Home.BYTES, PAGE, node.pool.stagingAddress());
        advance(DEADLINE);
        assertFalse(fetcher.hasDone(), "a source that repeats the request at once would do so in every duty cycle");
        advance(1_000_000);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
        assertEquals(LinkPhase.UP, link.phase());
        assertTrue(link.answers(shard.silence().now()), "a request that is not posted says nothing about the home");
        assertFalse(link.isQuietFor(0, shard.silence().now()));
    }

    @Test
    void shouldFailLinkAndReportRefusalLaterWhenHealthyHomeRefuses() {
        int slot = read(0);
        for (int attempt = 1; attempt <= 2; attempt++) {
            connect(attempt, Home.INCARNATION, wrongKey());
            runUntil(() -> link.phase() == LinkPhase.UP);
            assertEquals(new ShardNotice.Up(link, attempt), shard.pollNotice());
            ShardNotice.Released notice = destroyReleased();
            assertTrue(notice.refused(), "the next queue pair will fail as well");
            String reason = notice.reason();
            assertTrue(reason.startsWith("the peer refused a request"), reason);
            assertTrue(reason.contains("REM_ACCESS_ERR"), reason);
        }
        assertFalse(fetcher.hasDone(), "a source that repeats the request at once would fail the link again");
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    @Test
    void shouldEndTransferOverLinkWhenLinkBreaks() {
        connect(1, Home.INCARNATION, wrongKey());
        runUntil(() -> link.phase() == LinkPhase.UP);
        shard.submit(new ShardCommand.Remove(link, 1, "removed"));
        shard.doWork();
        int slot = readOverLink();
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.UNREACHABLE, fetcher.status(slot));
    }

    @Test
    void shouldPauseTransferOverLinkThatHealthyHomeRefuses() {
        connect(1, Home.INCARNATION, wrongKey());
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = readOverLink();
        destroyReleased();
        assertFalse(fetcher.hasDone(), "a source that repeats the request at once would fail the next link, too");
        advance(DEADLINE + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    private int readOverLink() {
        return fetcher.readOverLink(Priority.DEMAND, link, Home.INCARNATION, 0, PAGE, node.pool.stagingAddress());
    }

    @Test
    void shouldReportRefusalAtDeadlineWhenLinkStaysDown() {
        connect(1, Home.INCARNATION, wrongKey());
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = read(0);
        destroyReleased();
        advance(DEADLINE + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    /** The home's memory, with a key that it does not know. */
    private PeerMemory wrongKey() {
        PeerMemory right = home.memory();
        return new PeerMemory(
                right.pool(),
                right.headerAddress(),
                right.headerRkey(),
                right.device(),
                home.granted(right.granted().attachments().rkey(0) ^ 0x0100_0000));
    }
}
