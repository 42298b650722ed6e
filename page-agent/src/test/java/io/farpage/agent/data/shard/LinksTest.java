package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WorkCompletion;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Links of a shard, from the installation of a queue pair to its destruction. */
final class LinksTest extends ShardFixture {
    @Test
    void shouldFailLinkWhenPeerHasAnotherIncarnation() {
        QueuePair queuePair = connect(1, Home.INCARNATION + 1);
        ShardNotice.Released notice = destroyReleased();
        assertEquals(queuePair, notice.queuePair());
        assertTrue(notice.reason().startsWith("the peer is not the node that the coordinator named"), notice.reason());
        assertEquals(LinkPhase.DOWN, link.phase());
        assertEquals(notice.reason(), link.lastFailure());
    }

    @Test
    void shouldRefuseQueuePairWhenNoHeaderFrameIsFree() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        PeerLink second = new PeerLink("home");
        PeerLink third = new PeerLink("home");
        connect(second, 5);
        connect(third, 6);
        ShardNotice.Released notice = runUntilReleased();
        assertEquals(third, notice.link());
        assertEquals("no room for more than 2 links", notice.reason());
        notice.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(third, 6));
        runUntil(() -> second.phase() == LinkPhase.UP);
        assertEquals(LinkPhase.DOWN, third.phase());
    }

    @Test
    void shouldReuseLinkNumberWhenQueuePairIsDestroyed() {
        for (int attempt = 1; attempt <= 20; attempt++) {
            PeerLink next = new PeerLink("home");
            connect(next, attempt);
            runUntil(() -> next.phase() == LinkPhase.UP);
            shard.submit(new ShardCommand.Remove(next, attempt, "the node has left"));
            assertEquals(next, destroyReleased().link());
            home.closeQueuePairs();
        }
        assertFalse(shard.hasDeadlines());
    }

    @Test
    void shouldStayVerifyingWhenHeaderReadOfEarlierAttemptCompletes() {
        FaultyQueue queue = new FaultyQueue(node.rail().completionQueue());
        Rail rail = rail(queue);
        queue.holds = true;
        connect(link, rail, 1, Home.INCARNATION, home.memory());
        runUntil(() -> !queue.held.isEmpty());
        shard.failLink(link, "for a test");
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        destroyReleased();
        WorkCompletion late = queue.held.getFirst();
        connect(link, rail, 2, Home.INCARNATION, home.memory());
        shard.doWork();
        assertEquals(LinkPhase.VERIFYING, link.phase());
        shard.complete(late);
        assertEquals(LinkPhase.VERIFYING, link.phase());
        assertEquals(1, link.outstanding());
    }

    @Test
    void shouldFailLinkWhenHeaderReadNeverCompletes() {
        FaultyQueue queue = new FaultyQueue(node.rail().completionQueue());
        Rail rail = rail(queue);
        queue.holds = true;
        connect(link, rail, 1, Home.INCARNATION, home.memory());
        runUntil(() -> !queue.held.isEmpty());
        advance(Links.VERIFICATION_NANOS);
        assertEquals(LinkPhase.VERIFYING, link.phase());
        advance(TimeUnit.MILLISECONDS.toNanos(1));
        assertEquals(LinkPhase.DRAINING, link.phase());
        assertEquals(
                "reading the pool header of home did not complete",
                destroyReleased().reason());
    }

    @Test
    void shouldFailTheLinksOfARailWhoseDeviceSaysThatItHasFailed() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        shard.submit(new ShardCommand.FailRail(node.rail(), "the device says so"));
        ShardNotice.Released notice = destroyReleased();
        assertTrue(notice.reason().endsWith("failed: the device says so"), notice.reason());
        assertTrue(node.rail().hasFailed());
    }

    @Test
    void shouldStayDrainingUntilQueuePairIsDestroyed() {
        installUnanswered(1);
        shard.doWork();
        shard.failLink(link, "for a test");
        ShardNotice.Released notice = runUntilReleased();
        advance(TimeUnit.SECONDS.toNanos(5));
        assertEquals(LinkPhase.DRAINING, link.phase(), "the device may still write to the memory");
        assertNull(shard.pollNotice(), "one notice is enough");
        notice.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(link, 99));
        shard.doWork();
        assertEquals(LinkPhase.DRAINING, link.phase(), "the notice is of another attempt");
        shard.submit(new ShardCommand.Destroyed(link, 1));
        shard.doWork();
        assertEquals(LinkPhase.DOWN, link.phase());
    }

    @Test
    void shouldReleaseQueuePairAfterOneSecondWhenItDoesNotDrain() {
        installUnanswered(1);
        shard.doWork();
        assertTrue(shard.hasDeadlines());
        shard.failLink(link, "for a test");
        advance(TimeUnit.SECONDS.toNanos(1) + 1);
        assertEquals("for a test", destroyReleased().reason());
        assertFalse(shard.hasDeadlines());
    }

    @Test
    void shouldFailLinksWhenCompletionQueueFails() {
        FaultyQueue queue = new FaultyQueue(node.rail().completionQueue());
        Rail rail = rail(queue);
        connect(link, rail, 1, Home.INCARNATION, home.memory());
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        int slot = read(0);
        queue.fails = true;
        shard.doWork();
        shard.doWork();
        ShardNotice failure = Objects.requireNonNull(shard.pollNotice());
        assertEquals(rail, ((ShardNotice.RailFailed) failure).rail());
        assertTrue(rail.hasFailed());
        ShardNotice.Released released = destroyReleased();
        assertTrue(released.reason().contains("poll_cq"), released.reason());
        assertFalse(fetcher.hasDone(), "the transfer waits for another link");

        shard.submit(new ShardCommand.AddRail(node.rail()));
        connect(2, Home.INCARNATION);
        runUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
    }
}
