package io.farpage.agent.shard;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.QueuePair;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A shard turned by hand, over the soft provider's devices, with a clock that stands still unless it is moved. */
@Timeout(60)
class ShardTest {
    private static final int PAGE = 4096;
    private static final long DEADLINE = TimeUnit.SECONDS.toNanos(2);

    private final Home here = new Home("here");
    private final Home home = new Home("home");
    private final PeerLink link = new PeerLink("home");
    private long now = 1_000_000_000;
    private int notices;
    private final Shard shard = new Shard(
            here.rails.rails(),
            here.pool.staging().asSlice(Home.BYTES - PoolHeader.BYTES, PoolHeader.BYTES),
            () -> now,
            () -> notices++);
    private final Fetcher fetcher = shard.newFetcher(4, DEADLINE);

    @AfterEach
    void close() {
        shard.close();
        here.close();
        home.close();
    }

    @Test
    void shouldMovePagesOnceThePeerHasProvedWhoItIs() {
        attach(1, Home.INCARNATION);
        shard.doWork();
        assertEquals(LinkPhase.VERIFYING, link.phase());
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        assertEquals(1, notices);

        home.pool.exported().set(ValueLayout.JAVA_LONG, 3 * PAGE, 0x1234);
        int slot = read(3);
        turnUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
        assertEquals(0x1234, here.pool.staging().get(ValueLayout.JAVA_LONG, 3 * PAGE));
    }

    @Test
    void shouldRefuseAPeerThatIsNotWhoTheCoordinatorSaid() {
        QueuePair queuePair = attach(1, Home.INCARNATION + 1);
        turnUntilReleased();
        ShardNotice.Released said = released();
        assertEquals(queuePair, said.queuePair());
        assertTrue(said.reason().startsWith("the peer is not who the coordinator said"), said.reason());
        assertEquals(LinkPhase.DOWN, link.phase());
        assertEquals(said.reason(), link.lastFailure());
    }

    @Test
    void shouldRefuseALinkThatItHasNoHeaderFrameFor() {
        attach(1, Home.INCARNATION);
        PeerLink second = new PeerLink("second");
        QueuePair queuePair = here.queuePair();
        shard.submit(new ShardCommand.Attach(second, queuePair, here.rail(), 1, home.memory(), 5));
        shard.doWork();
        ShardNotice.Released said = released();
        assertEquals(second, said.link());
        assertEquals("no room for more than 1 links", said.reason());
    }

    @Test
    void shouldEndATransferAtItsDeadlineWhenThereIsNoLink() {
        int slot = read(0);
        move(DEADLINE);
        assertFalse(fetcher.hasDone());
        move(TimeUnit.MILLISECONDS.toNanos(1));
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
    }

    @Test
    void shouldLookAtTheClockOnceInSixtyFourTurns() {
        read(0);
        now += 2 * DEADLINE;
        shard.doWork(); // the first turn looks at the clock, and the next ones do not
        assertTrue(fetcher.hasDone());
        fetcher.release(fetcher.poll());
        read(0);
        now += 2 * DEADLINE;
        for (int turn = 0; turn < 63; turn++) {
            shard.doWork();
            assertFalse(fetcher.hasDone(), "turn " + turn);
        }
        shard.doWork();
        assertTrue(fetcher.hasDone());
    }

    @Test
    void shouldReleaseAQueuePairWhenItIsDrainedAndPostItsTransfersAgainOnTheNext() {
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        List<Integer> slots = List.of(read(0), read(1), read(2));
        shard.submit(new ShardCommand.Detach(link, 99, "of an attempt that is not this one"));
        shard.submit(new ShardCommand.Detach(link, 1, "asked to"));
        shard.doWork();
        assertEquals(LinkPhase.DRAINING, link.phase());
        turnUntilReleased();
        ShardNotice.Released said = released();
        assertEquals("asked to", said.reason());
        assertEquals(LinkPhase.DOWN, link.phase());
        assertFalse(shard.hasDeadlines() && !fetcher.hasParked(), "nothing is posted any more");
        assertEquals(3, fetcher.inUse());

        attach(2, Home.INCARNATION);
        List<Integer> done = new ArrayList<>();
        turnUntil(() -> {
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                assertEquals(FetchStatus.OK, fetcher.status(slot));
                done.add(slot);
            }
            return done.size() == 3;
        });
        assertTrue(done.containsAll(slots), done + " of " + slots);
        assertTrue(fetcher.replays().get() >= 1, "taken back from the first link");
    }

    @Test
    void shouldReleaseAQueuePairThatNeverDrainsAfterASecond() {
        // The peer's queue pair never gets to RTR, so that the READ of its header has no answer.
        QueuePair queuePair = here.queuePair();
        QueuePair silent = home.queuePair();
        queuePair.modifyToRtr(silent.endpoint());
        queuePair.modifyToRts();
        shard.submit(new ShardCommand.Attach(link, queuePair, here.rail(), Home.INCARNATION, home.memory(), 1));
        shard.doWork();
        assertTrue(shard.hasDeadlines());
        shard.giveUp(link, "for a test");
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        turnUntilReleased();
        assertEquals("for a test", released().reason());
        assertFalse(shard.hasDeadlines());
    }

    @Test
    void shouldEndTransfersToAnIncarnationThatIsGone() {
        int slot = read(0);
        shard.submit(new ShardCommand.SetIncarnation(link, Home.INCARNATION + 1));
        shard.doWork();
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.PAGE_LOST, fetcher.status(slot));
    }

    @Test
    void shouldRefuseATransferBeyondThePeersMemory() {
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        int slot = fetcher.read(link, Home.INCARNATION, Home.BYTES, PAGE, here.pool.stagingAddress());
        move(TimeUnit.SECONDS.toNanos(1));
        assertFalse(fetcher.hasDone(), "a source that asks again at once would turn for ever");
        move(1_000_000);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
        assertEquals(LinkPhase.UP, link.phase());
    }

    @Test
    void shouldFailTheLinkAndReportRefusalAfterAPauseWhenAHealthyHomeRefuses() {
        PeerMemory right = home.memory();
        PeerMemory wrongKey = new PeerMemory(
                right.headerAddress(),
                right.headerRkey(),
                right.exportedAddress(),
                right.exportedLength(),
                right.exportedRkey() ^ 0x0100_0000);
        shard.submit(new ShardCommand.SetIncarnation(link, Home.INCARNATION));
        int slot = read(0);
        for (int attempt = 1; attempt <= 2; attempt++) {
            attach(attempt, Home.INCARNATION, wrongKey);
            turnUntil(() -> link.phase() == LinkPhase.UP);
            assertEquals(new ShardNotice.Up(link, attempt), shard.pollNotice());
            turnUntilReleased();
            String reason = released().reason();
            assertTrue(reason.startsWith("the peer refused a request"), reason);
            assertTrue(reason.contains("REM_ACCESS_ERR"), reason);
        }
        assertFalse(fetcher.hasDone(), "a source that asks again at once would fail the link again at once");
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    @Test
    void shouldBeSettledWhenOnlyACompletionBringsMore() {
        Source source = new Source();
        shard.submit(new ShardCommand.AddCycle(source));
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        shard.doWork();
        source.settled = true;
        assertTrue(shard.isSettled());
        source.settled = false;
        assertFalse(shard.isSettled(), "a source may have more to do");
        source.settled = true;

        read(0);
        turnUntil(fetcher::hasDone);
        assertFalse(shard.isSettled(), "a page has come that nobody has taken");
        fetcher.release(fetcher.poll());
        shard.doWork();
        assertTrue(shard.isSettled());
    }

    @Test
    void shouldNotBeSettledAfterATurnThatLookedAtTheClockAndFoundWork() {
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        shard.doWork();
        shard.giveUp(link, "for a test");
        move(TimeUnit.SECONDS.toNanos(2));
        assertEquals(LinkPhase.DOWN, link.phase());
        assertFalse(shard.isSettled(), "the release may let a source go on");
    }

    @Test
    void shouldNeedPollingAsLongAsASourceDoes() {
        Source first = new Source();
        Source second = new Source();
        shard.submit(new ShardCommand.AddCycle(first));
        shard.submit(new ShardCommand.AddCycle(second));
        shard.doWork();
        assertFalse(shard.needsPolling());
        second.polls = true;
        assertTrue(shard.needsPolling());
        shard.submit(new ShardCommand.RemoveCycle(second));
        shard.doWork();
        assertFalse(shard.needsPolling());
        assertEquals(2, first.turns);
        assertEquals(1, second.turns);
    }

    @Test
    void shouldEndAllTransfersAndLinksWhenItIsClosed() {
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        int posted = read(0);
        int parked = fetcher.read(new PeerLink("nobody"), 1, 0, PAGE, here.pool.stagingAddress());
        shard.close();
        assertEquals(LinkPhase.DOWN, link.phase());
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            assertTrue(slot == posted || slot == parked);
            assertEquals(FetchStatus.CLOSED, fetcher.status(slot));
            fetcher.release(slot);
        }
        assertEquals(0, fetcher.inUse());
        int late = read(0);
        assertEquals(late, fetcher.poll());
        assertEquals(FetchStatus.CLOSED, fetcher.status(late));
    }

    /** Connects a new queue pair with the home's and gives it to the shard. */
    private QueuePair attach(long attempt, long incarnation) {
        return attach(attempt, incarnation, home.memory());
    }

    private QueuePair attach(long attempt, long incarnation, PeerMemory memory) {
        QueuePair mine = here.queuePair();
        QueuePair theirs = home.queuePair();
        theirs.modifyToRtr(mine.endpoint());
        mine.modifyToRtr(theirs.endpoint());
        theirs.modifyToRts();
        mine.modifyToRts();
        shard.submit(new ShardCommand.Attach(link, mine, here.rail(), incarnation, memory, attempt));
        return mine;
    }

    /** Asks for a page of the home, which goes to the staging frame of that number. */
    private int read(int page) {
        return fetcher.read(
                link, Home.INCARNATION, (long) page * PAGE, PAGE, here.pool.stagingAddress() + (long) page * PAGE);
    }

    /** Lets time go by, and has the shard look at the clock. */
    private void move(long nanos) {
        now += nanos;
        shard.clockIsStale();
        shard.doWork();
    }

    private ShardNotice.Released released() {
        return (ShardNotice.Released) Objects.requireNonNull(shard.pollNotice());
    }

    private void turnUntil(BooleanSupplier holds) {
        await().atMost(Duration.ofSeconds(20))
                .pollInterval(Duration.ofMillis(1))
                .until(() -> {
                    for (int turn = 0; turn < 100 && !holds.getAsBoolean(); turn++) {
                        shard.doWork();
                    }
                    return holds.getAsBoolean();
                });
    }

    private void turnUntilReleased() {
        turnUntil(() -> {
            move(TimeUnit.MILLISECONDS.toNanos(1));
            return link.queuePair() == null && link.phase() == LinkPhase.DOWN;
        });
    }

    /** A source that counts its turns. */
    private static final class Source implements DutyCycle {
        int turns;
        boolean settled;
        boolean polls;

        @Override
        public int doWork() {
            turns++;
            return 0;
        }

        @Override
        public boolean isSettled() {
            return settled;
        }

        @Override
        public boolean needsPolling() {
            return polls;
        }
    }
}
