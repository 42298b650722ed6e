package io.farpage.agent.data.shard;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
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
            here.pool.staging().asSlice(Home.BYTES - 2 * PoolHeader.BYTES, 2 * PoolHeader.BYTES),
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
        ShardNotice.Released said = turnUntilReleased();
        assertEquals(queuePair, said.queuePair());
        assertTrue(said.reason().startsWith("the peer is not who the coordinator said"), said.reason());
        assertEquals(LinkPhase.DOWN, link.phase());
        assertEquals(said.reason(), link.lastFailure());
    }

    @Test
    void shouldRefuseALinkThatItHasNoHeaderFrameFor() {
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        PeerLink second = new PeerLink("home");
        PeerLink third = new PeerLink("home");
        connect(second, 5);
        connect(third, 6);
        ShardNotice.Released said = turnUntilGivenBack();
        assertEquals(third, said.link());
        assertEquals("no room for more than 2 links", said.reason());
        said.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(third, 6));
        turnUntil(() -> second.phase() == LinkPhase.UP);
        assertEquals(LinkPhase.DOWN, third.phase());
    }

    @Test
    void shouldGiveTheNumberOfALinkThatIsGoneToTheNextPeer() {
        for (int attempt = 1; attempt <= 20; attempt++) {
            PeerLink next = new PeerLink("home");
            connect(next, attempt);
            turnUntil(() -> next.phase() == LinkPhase.UP);
            shard.submit(new ShardCommand.Detach(next, attempt, "the node has left"));
            assertEquals(next, turnUntilReleased().link());
            home.closeQueuePairs();
        }
        assertFalse(shard.hasDeadlines());
    }

    @Test
    void shouldNotTakeTheHeaderOfAnEarlierAttemptForThePresentOne() {
        FaultyQueue queue = new FaultyQueue(here.rail().completionQueue());
        Rail rail = rail(queue);
        queue.holds = true;
        connect(link, rail, 1, Home.INCARNATION, home.memory());
        turnUntil(() -> !queue.held.isEmpty());
        shard.failLink(link, "for a test");
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        turnUntilReleased();
        WorkCompletion late = queue.held.getFirst();
        connect(link, rail, 2, Home.INCARNATION, home.memory());
        shard.doWork();
        assertEquals(LinkPhase.VERIFYING, link.phase());
        shard.complete(late);
        assertEquals(LinkPhase.VERIFYING, link.phase());
        assertEquals(1, link.outstanding());
    }

    @Test
    void shouldKeepTransfersUntilAQueuePairThatCannotBeDestroyedIs() {
        attachSilently(1);
        shard.doWork();
        shard.submit(new ShardCommand.SetIncarnation(link, Home.INCARNATION));
        shard.failLink(link, "for a test");
        ShardNotice.Released said = turnUntilGivenBack();
        move(TimeUnit.SECONDS.toNanos(5));
        assertEquals(LinkPhase.DRAINING, link.phase(), "its memory may still be written");
        assertNull(shard.pollNotice(), "and that is said once");
        said.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(link, 99));
        shard.doWork();
        assertEquals(LinkPhase.DRAINING, link.phase(), "another attempt says nothing of this one");
        shard.submit(new ShardCommand.Destroyed(link, 1));
        shard.doWork();
        assertEquals(LinkPhase.DOWN, link.phase());
    }

    @Test
    void shouldMoveToTheQueuePairOfATrialOnceNothingIsOutstandingOnTheOld() {
        PeerLink trial = new PeerLink("home");
        attach(1, Home.INCARNATION);
        connect(trial, 2);
        turnUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        while (shard.pollNotice() != null) {}
        QueuePair old = Objects.requireNonNull(link.queuePair());
        QueuePair better = Objects.requireNonNull(trial.queuePair());
        home.pool.exported().set(ValueLayout.JAVA_LONG, 0, 0x77);
        int first = read(0);
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        int second = read(1);
        if (link.phase() == LinkPhase.SWITCHING) {
            assertEquals(old, link.queuePair());
            assertTrue(fetcher.hasParked(), "nothing new is posted on the old queue pair");
        }
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Switched(link, trial, 2), shard.pollNotice());
        assertEquals(better, link.queuePair());
        assertEquals(old, trial.queuePair());
        assertEquals(2, link.attempt());
        assertEquals(1, trial.attempt());
        Set<Integer> done = new HashSet<>();
        turnUntil(() -> {
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                assertEquals(FetchStatus.OK, fetcher.status(slot));
                done.add(slot);
            }
            return done.size() == 2;
        });
        assertEquals(Set.of(first, second), done);
        assertEquals(0, fetcher.replays().get(), "nothing was taken back from a queue pair");

        shard.submit(new ShardCommand.Detach(trial, 1, "replaced"));
        assertEquals(old, turnUntilReleased().queuePair());
        assertEquals(LinkPhase.UP, link.phase());
        read(2);
        turnUntil(fetcher::hasDone);
        assertEquals(FetchStatus.OK, fetcher.status(fetcher.poll()));
    }

    @Test
    void shouldStayOnTheOldQueuePairWhenTheTrialFailsBeforeTheSwitch() {
        PeerLink trial = new PeerLink("home");
        attach(1, Home.INCARNATION);
        connect(trial, 2);
        turnUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        QueuePair old = link.queuePair();
        shard.failLink(trial, "for a test");
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        assertEquals(LinkPhase.UP, link.phase());
        assertEquals(old, link.queuePair());
        assertEquals(trial, turnUntilReleased().link());
    }

    @Test
    void shouldGiveUpALinkThatDoesNotGetQuietForTheSwitch() {
        FaultyQueue queue = new FaultyQueue(here.rail().completionQueue());
        PeerLink trial = new PeerLink("home");
        connect(link, rail(queue), 1, Home.INCARNATION, home.memory());
        connect(trial, 2);
        turnUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        queue.holds = true;
        read(0);
        shard.doWork();
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        assertEquals(LinkPhase.SWITCHING, link.phase());
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(LinkPhase.DRAINING, link.phase());
        assertEquals(LinkPhase.UP, trial.phase());
    }

    @Test
    void shouldEndASourceThatThrowsAndTurnTheOthers() {
        Source broken = new Source();
        Source sound = new Source();
        broken.thrown = new IllegalStateException("for a test");
        shard.submit(new ShardCommand.AddCycle(broken));
        shard.submit(new ShardCommand.AddCycle(sound));
        attach(1, Home.INCARNATION);
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(1, broken.turns, "it is not turned again");
        assertEquals(broken.thrown, broken.ended);
        assertTrue(sound.turns > 0);
        read(0);
        turnUntil(fetcher::hasDone);
        assertEquals(FetchStatus.OK, fetcher.status(fetcher.poll()));
    }

    @Test
    void shouldGoOnWhenATaskThrows() {
        List<String> ran = new ArrayList<>();
        shard.submit(new ShardCommand.Run(() -> {
            throw new AssertionError("for a test");
        }));
        shard.submit(new ShardCommand.Run(() -> ran.add("next")));
        shard.doWork();
        assertEquals(List.of("next"), ran);
    }

    @Test
    void shouldGiveUpTheLinksOfACompletionQueueThatFails() {
        FaultyQueue queue = new FaultyQueue(here.rail().completionQueue());
        Rail rail = rail(queue);
        connect(link, rail, 1, Home.INCARNATION, home.memory());
        turnUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        int slot = read(0);
        queue.fails = true;
        shard.doWork();
        shard.doWork();
        ShardNotice said = Objects.requireNonNull(shard.pollNotice());
        assertEquals(rail, ((ShardNotice.RailFailed) said).rail());
        assertTrue(rail.hasFailed());
        ShardNotice.Released released = turnUntilReleased();
        assertTrue(released.reason().contains("poll_cq"), released.reason());
        assertFalse(fetcher.hasDone(), "the page waits for another link");

        shard.submit(new ShardCommand.AddRail(here.rail()));
        attach(2, Home.INCARNATION);
        turnUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
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
        shard.doWork(); // the first turn maxPolls at the clock, and the next ones do not
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
        ShardNotice.Released said = turnUntilReleased();
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
        attachSilently(1);
        shard.doWork();
        assertTrue(shard.hasDeadlines());
        shard.failLink(link, "for a test");
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals("for a test", turnUntilReleased().reason());
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
            ShardNotice.Released said = turnUntilReleased();
            assertTrue(said.refused(), "the next queue pair will fail as well");
            String reason = said.reason();
            assertTrue(reason.startsWith("the peer refused a request"), reason);
            assertTrue(reason.contains("REM_ACCESS_ERR"), reason);
        }
        assertFalse(fetcher.hasDone(), "a source that asks again at once would fail the link again at once");
        move(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    @Test
    void shouldReportRefusalAtTheDeadlineWhenTheLinkIsStillDown() {
        PeerMemory right = home.memory();
        attach(
                1,
                Home.INCARNATION,
                new PeerMemory(
                        right.headerAddress(),
                        right.headerRkey(),
                        right.exportedAddress(),
                        right.exportedLength(),
                        right.exportedRkey() ^ 0x0100_0000));
        turnUntil(() -> link.phase() == LinkPhase.UP);
        int slot = read(0);
        turnUntilReleased();
        move(DEADLINE + 1);
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
        shard.failLink(link, "for a test");
        move(TimeUnit.SECONDS.toNanos(2));
        assertFalse(shard.isSettled(), "what the turn did may let a source go on");
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
        return connect(link, here.rail(), attempt, incarnation, memory);
    }

    private QueuePair connect(PeerLink to, long attempt) {
        return connect(to, here.rail(), attempt, Home.INCARNATION, home.memory());
    }

    private QueuePair connect(PeerLink to, Rail rail, long attempt, long incarnation, PeerMemory memory) {
        QueuePair mine = here.queuePair();
        QueuePair theirs = home.queuePair();
        theirs.modifyToRtr(mine.endpoint());
        mine.modifyToRtr(theirs.endpoint());
        theirs.modifyToRts();
        mine.modifyToRts();
        shard.submit(new ShardCommand.Attach(to, mine, rail, incarnation, memory, attempt));
        return mine;
    }

    /** Gives the shard a queue pair whose peer never gets to RTR, so that the READ of its header has no answer. */
    private void attachSilently(long attempt) {
        QueuePair queuePair = here.queuePair();
        QueuePair silent = home.queuePair();
        queuePair.modifyToRtr(silent.endpoint());
        queuePair.modifyToRts();
        shard.submit(new ShardCommand.Attach(link, queuePair, here.rail(), Home.INCARNATION, home.memory(), attempt));
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

    /** Turns until the shard has given a queue pair back, destroys it, and says so. */
    private ShardNotice.Released turnUntilReleased() {
        ShardNotice.Released said = turnUntilGivenBack();
        said.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(said.link(), said.attempt()));
        shard.doWork();
        return said;
    }

    private ShardNotice.Released turnUntilGivenBack() {
        AtomicReference<ShardNotice.@Nullable Released> said = new AtomicReference<>();
        turnUntil(() -> {
            move(TimeUnit.MILLISECONDS.toNanos(1));
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                if (notice instanceof ShardNotice.Released released) {
                    said.set(released);
                }
            }
            return said.get() != null;
        });
        return Objects.requireNonNull(said.get());
    }

    /** A source that counts its turns. */
    private static final class Source implements DutyCycle {
        int turns;
        boolean settled;
        boolean polls;

        @Nullable
        RuntimeException thrown;

        @Nullable
        Throwable ended;

        @Override
        public int doWork() {
            turns++;
            if (thrown != null) {
                throw thrown;
            }
            return 0;
        }

        @Override
        public boolean failed(Throwable cause) {
            ended = cause;
            return false;
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

    /** Has the shard poll another queue in the place of its own. */
    private Rail rail(CompletionQueue queue) {
        Rail rail = new Rail("faulty", queue, here.rail().channel(), here.rail().stagingLkey(), 1);
        shard.submit(new ShardCommand.RemoveRail(here.rail(), new CompletableFuture<>()));
        shard.submit(new ShardCommand.AddRail(rail));
        return rail;
    }

    /** A completion queue that can be made to fail, as that of a device that was removed, or to hold completions back. */
    private static final class FaultyQueue implements CompletionQueue {
        private final CompletionQueue queue;
        final List<WorkCompletion> held = new ArrayList<>();
        boolean fails;
        boolean holds;

        FaultyQueue(CompletionQueue queue) {
            this.queue = queue;
        }

        @Override
        public int capacity() {
            return queue.capacity();
        }

        @Override
        public int poll(WorkCompletion[] into) {
            if (fails) {
                throw new VerbsException("poll_cq on a failing queue: -1");
            }
            if (!holds) {
                return queue.poll(into);
            }
            WorkCompletion[] one = WorkCompletion.array(1);
            if (queue.poll(one) == 1) {
                held.add(one[0]);
            }
            return 0;
        }

        @Override
        public void requestNotification() {
            queue.requestNotification();
        }

        @Override
        public void close() {}
    }
}
