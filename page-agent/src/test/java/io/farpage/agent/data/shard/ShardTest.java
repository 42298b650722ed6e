package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The duty cycle of a shard: sources, tasks, clock, quiescence, closing. */
final class ShardTest extends ShardFixture {
    @Test
    void shouldRemoveSourceThatThrowsAndRunOthers() {
        Source broken = new Source();
        Source sound = new Source();
        broken.thrown = new IllegalStateException("for a test");
        shard.submit(new ShardCommand.AddCycle(broken));
        shard.submit(new ShardCommand.AddCycle(sound));
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(1, broken.cycles, "the shard does not run it again");
        assertEquals(broken.thrown, broken.ended);
        assertTrue(sound.cycles > 0);
        read(0);
        runUntil(fetcher::hasDone);
        assertEquals(FetchStatus.OK, fetcher.status(fetcher.poll()));
    }

    @Test
    void shouldRunNextTaskWhenOneThrows() {
        List<String> ran = new ArrayList<>();
        shard.submit(new ShardCommand.Run(() -> {
            throw new AssertionError("for a test");
        }));
        shard.submit(new ShardCommand.Run(() -> ran.add("next")));
        shard.doWork();
        assertEquals(List.of("next"), ran);
    }

    @Test
    void shouldReadClockOnceInSixtyFourDutyCycles() {
        Fetcher brief = shard.newFetcher(1, TimeUnit.MILLISECONDS.toNanos(1));
        readBriefly(brief);
        now += TimeUnit.MILLISECONDS.toNanos(2);
        shard.doWork(); // the first duty cycle reads the clock, and the next ones do not
        assertTrue(brief.hasDone());
        brief.release(brief.poll());
        readBriefly(brief);
        now += TimeUnit.MILLISECONDS.toNanos(2);
        for (int cycle = 0; cycle < 63; cycle++) {
            shard.doWork();
            assertFalse(brief.hasDone(), "duty cycle " + cycle);
        }
        shard.doWork();
        assertTrue(brief.hasDone());
    }

    /** Begins a READ over a link that is down. */
    private void readBriefly(Fetcher brief) {
        brief.read(Priority.DEMAND, link, Home.INCARNATION, 0, PAGE, node.pool.stagingAddress());
    }

    @Test
    void shouldBeQuiescentWhenOnlyACompletionBringsWork() {
        Source source = new Source();
        shard.submit(new ShardCommand.AddCycle(source));
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        shard.doWork();
        source.quiescent = true;
        assertTrue(shard.isQuiescent());
        source.quiescent = false;
        assertFalse(shard.isQuiescent(), "the source has work left");
        source.quiescent = true;

        read(0);
        runUntil(fetcher::hasDone);
        assertFalse(shard.isQuiescent(), "a completed slot was not polled yet");
        fetcher.release(fetcher.poll());
        shard.doWork();
        assertTrue(shard.isQuiescent());
    }

    @Test
    void shouldNotBeQuiescentWhenHousekeepingFoundWork() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        shard.doWork();
        shard.failLink(link, "for a test");
        advance(TimeUnit.MILLISECONDS.toNanos(2));
        assertFalse(shard.isQuiescent(), "a released queue pair may unblock a source");
    }

    @Test
    void shouldNeedPollingWhileASourceDoes() {
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
        assertEquals(2, first.cycles);
        assertEquals(1, second.cycles);
    }

    @Test
    void shouldEndTransfersAndLinksWhenClosed() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        int posted = read(0);
        int parked = fetcher.read(Priority.DEMAND, new PeerLink("unknown"), 1, 0, PAGE, node.pool.stagingAddress());
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

    /** A source that counts its duty cycles. */
    private static final class Source implements DutyCycle {
        int cycles;
        boolean quiescent;
        boolean polls;

        @Nullable
        RuntimeException thrown;

        @Nullable
        Throwable ended;

        @Override
        public int doWork() {
            cycles++;
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
        public boolean isQuiescent() {
            return quiescent;
        }

        @Override
        public boolean needsPolling() {
            return polls;
        }
    }
}
