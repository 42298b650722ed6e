package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.QueuePair;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A link moves to the queue pair of a trial. */
final class LinkSwitchTest extends ShardFixture {
    @Test
    void shouldUseQueuePairOfTrialWhenNothingIsOutstandingOnOldOne() {
        PeerLink trial = new PeerLink("home");
        connect(1, Home.INCARNATION);
        connect(trial, 2);
        runUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        while (shard.pollNotice() != null) {}
        QueuePair old = link.connection().queuePair();
        QueuePair better = trial.connection().queuePair();
        home.pool.exported().set(ValueLayout.JAVA_LONG, 0, 0x77);
        int first = read(0);
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        int second = read(1);
        if (link.phase() == LinkPhase.SWITCHING) {
            assertEquals(old, link.connection().queuePair());
            assertTrue(fetcher.hasParked(), "no transfer is posted on the old queue pair");
        }
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Switched(link, trial, 2), shard.pollNotice());
        assertEquals(better, link.connection().queuePair());
        assertEquals(old, trial.connection().queuePair());
        assertEquals(2, link.connection().attempt());
        assertEquals(1, trial.connection().attempt());
        Set<Integer> done = new HashSet<>();
        runUntil(() -> {
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                assertEquals(FetchStatus.OK, fetcher.status(slot));
                done.add(slot);
            }
            return done.size() == 2;
        });
        assertEquals(Set.of(first, second), done);
        assertEquals(0, fetcher.replays().get(), "no transfer was posted twice");

        shard.submit(new ShardCommand.Remove(trial, 1, "replaced"));
        assertEquals(old, destroyReleased().queuePair());
        assertEquals(LinkPhase.UP, link.phase());
        read(2);
        runUntil(fetcher::hasDone);
        assertEquals(FetchStatus.OK, fetcher.status(fetcher.poll()));
    }

    @Test
    void shouldKeepOldQueuePairWhenTrialFailsBeforeSwitch() {
        PeerLink trial = new PeerLink("home");
        connect(1, Home.INCARNATION);
        connect(trial, 2);
        runUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        QueuePair old = link.connection().queuePair();
        shard.failLink(trial, "for a test");
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        assertEquals(LinkPhase.UP, link.phase());
        assertEquals(old, link.connection().queuePair());
        assertEquals(trial, destroyReleased().link());
    }

    @Test
    void shouldFailLinkWhenOutstandingRequestsDelaySwitch() {
        FaultyQueue queue = new FaultyQueue(node.rail().completionQueue());
        PeerLink trial = new PeerLink("home");
        connect(link, rail(queue), 1, Home.INCARNATION, home.memory());
        connect(trial, 2);
        runUntil(() -> link.phase() == LinkPhase.UP && trial.phase() == LinkPhase.UP);
        queue.holds = true;
        read(0);
        shard.doWork();
        shard.submit(new ShardCommand.Switch(link, trial));
        shard.doWork();
        assertEquals(LinkPhase.SWITCHING, link.phase());
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals(LinkPhase.DRAINING, link.phase());
        assertEquals(LinkPhase.UP, trial.phase());
    }
}
