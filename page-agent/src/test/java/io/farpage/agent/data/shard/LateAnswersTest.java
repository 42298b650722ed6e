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

/** A shard whose home answers late, never, or to a request of an earlier queue pair. */
class LateAnswersTest {
    private static final long DEADLINE = TimeUnit.SECONDS.toNanos(10);
    private static final int PAGE = 4096;

    private final MemorySegment headerFrames = Arena.ofAuto().allocate(PoolHeader.BYTES, 4096);
    private final ScriptedHome home = new ScriptedHome(headerFrames);
    private final PeerLink link = new PeerLink(ScriptedHome.NODE);
    private final Rail rail = home.rail();
    private long now = 1_000_000_000L;
    private long attempts;
    private final Shard shard = new Shard(List.of(rail), headerFrames, () -> now, () -> {});
    private final Fetcher fetcher = shard.newFetcher(4, DEADLINE);

    @BeforeEach
    void connect() {
        install(++attempts);
        home.answerHeader(home.posted.getLast());
        shard.doWork();
        assertEquals(LinkPhase.UP, link.phase());
    }

    @Test
    void shouldFailLinkWhenPostedTransferMissesDeadline() {
        int slot = read(ScriptedHome.INCARNATION);
        advance(DEADLINE);
        assertEquals(LinkPhase.UP, link.phase(), "the deadline is not over");

        advance(TimeUnit.MILLISECONDS.toNanos(1));

        assertEquals(LinkPhase.DRAINING, link.phase());
        assertEquals("a transfer was not answered within its deadline", link.lastFailure());
        assertFalse(fetcher.hasDone(), "the device may still write into the staging frame");
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(LinkPhase.DOWN, link.phase());
        advance(TimeUnit.MILLISECONDS.toNanos(1));
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
    }

    /** More completions than one poll takes have arrived while the thread stood still. */
    @Test
    void shouldKeepLinkWhenCompletionsThatHaveArrivedAreHandledLate() {
        Fetcher wide = shard.newFetcher(ScriptedHome.SPACE, DEADLINE);
        for (int i = 0; i < ScriptedHome.SPACE; i++) {
            wide.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, 0, PAGE, 0);
        }
        advance(DEADLINE - TimeUnit.MILLISECONDS.toNanos(100));
        home.posted.stream().skip(1).forEach(wrId -> home.answer(wrId, WcStatus.SUCCESS));

        step(TimeUnit.SECONDS.toNanos(3));

        assertEquals(LinkPhase.UP, link.phase());
        for (int i = 0; i < ScriptedHome.SPACE; i++) {
            assertEquals(FetchStatus.OK, wide.status(wide.poll()));
        }
    }

    @Test
    void shouldKeepLinkWhenThreadStoodStill() {
        int slot = read(ScriptedHome.INCARNATION);
        shard.doWork();

        step(2 * DEADLINE);

        assertEquals(LinkPhase.UP, link.phase());
        home.answer(home.posted.getLast(), WcStatus.SUCCESS);
        shard.doWork();
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
    }

    @Test
    void shouldGiveNextLinkWholeDeadlineForTransferThatWasParked() {
        failAndRelease();
        int slot = read(ScriptedHome.INCARNATION);
        advance(DEADLINE * 3 / 4);
        install(++attempts);
        home.answerHeader(home.posted.getLast());
        shard.doWork();
        advance(DEADLINE * 3 / 4);

        assertEquals(LinkPhase.UP, link.phase());
        advance(DEADLINE / 4 + TimeUnit.MILLISECONDS.toNanos(1));
        assertEquals(LinkPhase.DRAINING, link.phase());
        advance(TimeUnit.SECONDS.toNanos(2));
        assertEquals(slot, fetcher.poll(), "its own deadline has passed");
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
    }

    @Test
    void shouldParkTransferWhenPageLivesInAnotherIncarnation() {
        int earlier = read(ScriptedHome.INCARNATION - 1);
        int later = read(ScriptedHome.INCARNATION + 1);
        int right = read(ScriptedHome.INCARNATION);
        shard.doWork();

        assertEquals(
                List.of(right), home.posted.stream().skip(1).map(WrId::slot).toList());
        assertTrue(fetcher.hasParked());
        advance(DEADLINE + 1);
        assertEquals(earlier, fetcher.poll());
        assertEquals(later, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(later));
    }

    @Test
    void shouldIgnoreCompletionWhenTransferWasPostedAgain() {
        int slot = read(ScriptedHome.INCARNATION);
        shard.doWork();
        long first = home.posted.getLast();
        reconnect();
        long second = home.posted.getLast();
        assertEquals(slot, WrId.slot(second));

        home.answer(first, WcStatus.SUCCESS);
        shard.doWork();

        assertFalse(fetcher.hasDone(), "the second READ has not completed");
        home.answer(second, WcStatus.SUCCESS);
        shard.doWork();
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
    }

    @Test
    void shouldKeepLinkWhenEarlierQueuePairReportsFailureLate() {
        read(ScriptedHome.INCARNATION);
        shard.doWork();
        long first = home.posted.getLast();
        reconnect();

        home.answer(first, WcStatus.RETRY_EXC_ERR);
        shard.doWork();

        assertEquals(LinkPhase.UP, link.phase());
        assertFalse(fetcher.hasDone());
    }

    @Test
    void shouldStayVerifyingWhenHeaderReadOfEarlierAttemptCompletes() {
        failAndRelease();
        install(++attempts);
        long second = home.posted.getLast();
        failAndRelease();
        install(++attempts);
        long third = home.posted.getLast();

        home.answerHeader(second);
        shard.doWork();

        assertEquals(LinkPhase.VERIFYING, link.phase());
        home.answerHeader(third);
        shard.doWork();
        assertEquals(LinkPhase.UP, link.phase());
    }

    @Test
    void shouldReportRefusalWhenHomeRefusesTwice() {
        int slot = read(ScriptedHome.INCARNATION);
        shard.doWork();
        home.answer(home.posted.getLast(), WcStatus.REM_ACCESS_ERR);
        shard.doWork();
        reconnect();
        assertEquals(slot, WrId.slot(home.posted.getLast()), "posted once more");
        home.answer(home.posted.getLast(), WcStatus.REM_ACCESS_ERR);
        shard.doWork();
        int posted = home.posted.size();
        reconnect();

        assertEquals(posted + 1, home.posted.size(), "only the READ of the header is posted");
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.REFUSED, fetcher.status(slot));
    }

    @Test
    void shouldIgnoreCompletionWhenTransferIsParked() {
        read(ScriptedHome.INCARNATION);
        shard.doWork();
        failAndRelease();

        home.answer(home.posted.getLast(), WcStatus.SUCCESS);
        shard.doWork();

        assertFalse(fetcher.hasDone());
        assertTrue(fetcher.hasParked());
    }

    @Test
    void shouldKeepDrainingQueuePairUntilAllRequestsHaveCompleted() {
        read(ScriptedHome.INCARNATION);
        shard.doWork();
        shard.failLink(link, "for a test");
        advance(TimeUnit.MILLISECONDS.toNanos(900));
        assertEquals(LinkPhase.DRAINING, link.phase());

        home.answer(home.posted.getLast(), WcStatus.WR_FLUSH_ERR);
        advance(TimeUnit.MILLISECONDS.toNanos(2));

        assertEquals(LinkPhase.DOWN, link.phase());
    }

    @Test
    void shouldFailLinkWhenHeaderReadFails() {
        failAndRelease();
        install(++attempts);
        home.answer(home.posted.getLast(), WcStatus.RETRY_EXC_ERR);
        shard.doWork();
        assertTrue(link.lastFailure().contains("reading the pool header of home failed"), link.lastFailure());
        assertEquals(LinkPhase.DRAINING, link.phase());
    }

    @Test
    void shouldParkTransferUntilCompletionWhenSendQueueIsFull() {
        Fetcher wide = shard.newFetcher(ScriptedHome.SPACE + 1, DEADLINE);
        for (int i = 0; i <= ScriptedHome.SPACE; i++) {
            wide.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, 0, PAGE, 0);
        }
        assertTrue(wide.hasParked());
        shard.doWork();
        assertEquals(1 + ScriptedHome.SPACE, home.posted.size());

        home.answer(home.posted.getLast(), WcStatus.SUCCESS);
        shard.doWork();

        assertFalse(wide.hasParked());
        assertEquals(1 + ScriptedHome.SPACE + 1, home.posted.size());
    }

    @Test
    void shouldNotBeQuiescentWhenBatchOfCompletionsWasFull() {
        Fetcher wide = shard.newFetcher(40, DEADLINE);
        for (int i = 0; i < 33; i++) {
            wide.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, 0, PAGE, 0);
        }
        shard.doWork();
        home.posted.stream().skip(1).forEach(wrId -> home.answer(wrId, WcStatus.SUCCESS));
        shard.doWork();
        int done = 0;
        for (int slot = wide.poll(); slot != Fetcher.NONE; slot = wide.poll()) {
            wide.release(slot);
            done++;
        }
        assertEquals(32, done);
        assertFalse(shard.isQuiescent(), "a completion is still in the queue");
        shard.doWork();
        wide.release(wide.poll());
        assertTrue(shard.isQuiescent());
    }

    @Test
    void shouldPostLastGrantedPageAndParkTransferOneByteBeyondIt() {
        int last = fetcher.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, ScriptedHome.BYTES - PAGE, PAGE, 0);
        shard.doWork();
        assertEquals(2, home.posted.size());

        int beyond =
                fetcher.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, ScriptedHome.BYTES - PAGE + 1, PAGE, 0);
        int before = fetcher.read(Priority.DEMAND, link, ScriptedHome.INCARNATION, -1, PAGE, 0);
        shard.doWork();

        assertEquals(2, home.posted.size());
        home.answer(home.posted.getLast(), WcStatus.SUCCESS);
        shard.doWork();
        assertEquals(last, fetcher.poll());
        advance(DEADLINE + 1);
        assertEquals(beyond, fetcher.poll());
        assertEquals(before, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(beyond));
    }

    @Test
    void shouldKeepAllBitsOfNumbersInWorkRequestId() {
        long wrId = WrId.of(0xFFFE, (char) 0xFEDC, Integer.MAX_VALUE);
        assertEquals(0xFFFE, WrId.fetcher(wrId));
        assertEquals(0xFEDC, WrId.generation(wrId));
        assertEquals(Integer.MAX_VALUE, WrId.slot(wrId));
        assertFalse(WrId.isHeader(wrId));
        assertTrue(WrId.isHeader(WrId.header((char) 0, 0)));
    }

    private void install(long attempt) {
        shard.submit(new ShardCommand.Install(
                link, new Connection(home.queuePair(), rail, ScriptedHome.INCARNATION, home.memory(), attempt)));
        shard.doWork();
        assertEquals(LinkPhase.VERIFYING, link.phase());
    }

    private void failAndRelease() {
        shard.failLink(link, "for a test");
        // No request completes, so the queue pair is released after a second.
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(LinkPhase.DOWN, link.phase());
    }

    /** Replaces the queue pair; transfers that were parked are posted on the new one. */
    private void reconnect() {
        failAndRelease();
        install(++attempts);
        home.answerHeader(home.posted.getLast());
        shard.doWork();
        shard.doWork();
        assertEquals(LinkPhase.UP, link.phase());
    }

    private int read(long incarnation) {
        return fetcher.read(Priority.DEMAND, link, incarnation, 0, PAGE, 0);
    }

    /**
     * Advances the clock in equal steps that count in full. Queue pairs that the shard releases meanwhile are
     * destroyed, as the control plane does.
     */
    private void advance(long nanos) {
        long end = now + nanos;
        for (long steps = Math.ceilDiv(nanos, SilenceClock.MAX_STEP_NANOS); steps > 0; steps--) {
            step((end - now) / steps);
        }
    }

    private void step(long nanos) {
        now += nanos;
        shard.slept(0);
        shard.doWork();
        for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
            if (notice instanceof ShardNotice.Released released) {
                shard.submit(new ShardCommand.Destroyed(released.link(), released.attempt()));
                shard.doWork();
            }
        }
    }
}
