package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.WorkCompletion;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Who posts, sleeps and polls finds what ended the sleep. */
final class SleepTest {
    private static final int READS = 10;

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
}
