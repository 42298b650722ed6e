package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.PollSet;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Who posts, sleeps and polls finds what ended the sleep. */
final class SleepTest {
    private static final int READS = 10;
    private static final int PAGE = 4096;
    private static final int LARGE = 32 << 20;

    @Test
    void shouldFindTheReplyThatEndedTheSleepWithTheFirstPoll() {
        WorkCompletion[] completions = WorkCompletion.array(4);
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            pair.requireWorking();
            // A receive that waits keeps the channel from sleeping in the call that receives the reply.
            pair.from.prepareRecv(0, pair.callerMemory.address(), 8, pair.callerRegion.lkey());
            pair.from.postRecv();
            for (int i = 0; i < READS; i++) {
                pair.callerQueue.requestNotification();
                pair.post(i, 8);
                assertTrue(pair.channel.await(TimeUnit.SECONDS.toNanos(10)));
                pair.callerQueue.requestNotification();
                assertEquals(1, pair.callerQueue.poll(completions), "READ " + i);
                assertTrue(completions[0].isSuccess());
            }
        }
    }

    @Test
    void shouldSleepUntilReplyWhenReceiveMayBeNoticedLate() {
        WorkCompletion[] completions = WorkCompletion.array(4);
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            pair.requireWorking();
            pair.from.prepareRecv(0, pair.callerMemory.address(), 8, pair.callerRegion.lkey());
            pair.from.postRecv();
            for (int i = 0; i < READS; i++) {
                pair.callerQueue.requestNotification();
                pair.post(i, 8);
                assertTrue(pair.channel.awaitSends(TimeUnit.SECONDS.toNanos(10)));
                pair.callerQueue.requestNotification();
                assertEquals(1, pair.callerQueue.poll(completions), "READ " + i);
                assertTrue(completions[0].isSuccess());
            }
        }
    }

    /** As with ibv_req_notify_cq(3): the poll behind the arming finds it. */
    @Test
    void shouldMakeNoEventOfAReceiveThatCameBeforeArming() {
        WorkCompletion[] completions = WorkCompletion.array(4);
        PollSet set = new PollSet(2);
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            pair.requireWorking();
            pair.from.prepareRecv(0, pair.callerMemory.address(), 8, pair.callerRegion.lkey());
            pair.from.postRecv();
            pair.to.prepareSend(1, pair.serverMemory.address(), 8, pair.serverRegion.lkey(), SendFlag.SIGNALED);
            pair.to.postSend();
            // The peer acknowledges what it has received.
            Deadlines.Wait wait = Deadlines.begin("the end of the SEND", Duration.ofSeconds(10));
            while (pair.serverQueue.poll(completions) == 0) {
                wait.check();
            }
            pair.callerQueue.requestNotification();
            set.clear();
            pair.channel.addTo(set);
            assertEquals(0, set.await(0));
            assertEquals(1, pair.callerQueue.poll(completions));
        }
    }

    /** No reply comes before all of a WRITE is sent, and the socket's buffer has no space for all of it. */
    @Test
    void shouldWakeWhenMoreOfAWriteCanBeSent() {
        WorkCompletion[] completions = WorkCompletion.array(1);
        PollSet set = new PollSet(2);
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            MemorySegment source = pair.arena.allocate(LARGE, PAGE);
            MemorySegment target = pair.arena.allocate(LARGE, PAGE);
            MemoryRegion from = pair.callerDomain.registerMemory(source, EnumSet.of(AccessFlag.LOCAL_WRITE));
            MemoryRegion to = pair.serverDomain.registerMemory(
                    target, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
            pair.requireWorking();
            source.set(JAVA_BYTE, LARGE - 1, (byte) 0x5a);
            pair.from.prepareWrite(
                    1, source.address(), LARGE, from.lkey(), target.address(), to.rkey(), SendFlag.SIGNALED);
            pair.from.postSend();
            while (pair.callerQueue.poll(completions) == 0) {
                pair.callerQueue.requestNotification();
                set.clear();
                pair.channel.addTo(set);
                assertTrue(set.await(TimeUnit.SECONDS.toNanos(10)) > 0, "nothing ended the sleep");
                pair.channel.polled(set);
            }
            assertTrue(completions[0].isSuccess(), completions[0]::toString);
            assertEquals((byte) 0x5a, target.get(JAVA_BYTE, LARGE - 1));
            from.close();
            to.close();
        }
    }
}
