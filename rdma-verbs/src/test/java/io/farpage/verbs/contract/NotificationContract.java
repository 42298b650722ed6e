package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import org.junit.jupiter.api.Test;

/** A thread can sleep until an armed completion queue has something. */
public abstract class NotificationContract {
    private static final long SECOND = 1_000_000_000L;

    protected abstract VerbsFixture open();

    /** A at one end with a channel; B at the other with one too. */
    private static final class Sleepers implements AutoCloseable {
        final VerbsFixture fixture;
        final Side a;
        final Side b;
        final CompletionChannel channelA;
        final CompletionQueue queueA;
        final QueuePair qpA;
        final CompletionChannel channelB;
        final CompletionQueue queueB;
        final QueuePair qpB;

        Sleepers(VerbsFixture fixture, QpOptions options) {
            this.fixture = fixture;
            this.a = new Side(fixture.a());
            this.b = new Side(fixture.b());
            this.channelA = a.keep(a.device.createCompletionChannel());
            this.queueA = a.keep(a.device.createCompletionQueue(256, channelA));
            this.qpA = a.keep(a.domain.createQueuePair(queueA, queueA, options));
            this.channelB = b.keep(b.device.createCompletionChannel());
            this.queueB = b.keep(b.device.createCompletionQueue(256, channelB));
            this.qpB = b.keep(b.domain.createQueuePair(queueB, queueB, options));
            Connected.connect(qpA, qpB);
        }

        void read(long wrId) {
            qpA.prepareRead(
                    wrId, a.address(0), 4096, a.region.lkey(), b.address(0), b.region.rkey(), SendFlag.SIGNALED);
            qpA.postSend();
        }

        @Override
        public void close() {
            a.close();
            b.close();
            fixture.close();
        }
    }

    /** Arms, polls, sleeps, as {@link CompletionChannel#await} says. */
    private static WorkCompletion sleepFor(CompletionQueue queue, CompletionChannel channel) {
        WorkCompletion[] one = WorkCompletion.array(1);
        for (Deadlines.Wait wait = Deadlines.begin("a completion", Polling.PATIENCE); ; wait.check()) {
            queue.requestNotification();
            if (queue.poll(one) == 1) {
                return one[0];
            }
            channel.await(SECOND);
            if (queue.poll(one) == 1) {
                return one[0];
            }
        }
    }

    @Test
    void shouldWakeForACompletedRead() {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 200; i++) {
                pair.read(i);
                WorkCompletion completion = sleepFor(pair.queueA, pair.channelA);
                assertEquals(i, completion.wrId());
                assertTrue(completion.isSuccess(), completion::toString);
            }
        }
    }

    /**
     * As a thread does that turns and sleeps: what ended a sleep must be there in the next turn, though that one armed
     * first.
     */
    @Test
    void shouldGetOnWithOnePollForEachTimeItArms() {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 200; i++) {
                pair.read(i);
                assertEquals(i, turnAndSleep(pair.queueA, pair.channelA).wrId());
            }
        }
    }

    @Test
    void shouldWakeThoughEarlierEventsWereNotTaken() {
        WorkCompletion[] one = WorkCompletion.array(1);
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            for (long id = 0; id < 400; id += 2) {
                pair.queueA.requestNotification();
                pair.read(id);
                new Polling(pair.queueA).success(id);
                pair.read(id + 1);
                while (true) {
                    pair.queueA.requestNotification();
                    pair.queueA.requestNotification();
                    if (pair.queueA.poll(one) == 1) {
                        break;
                    }
                    assertTrue(
                            pair.channelA.await(Polling.PATIENCE.toNanos()),
                            "completion " + (id + 1) + " brings an event");
                }
                assertEquals(id + 1, one[0].wrId());
            }
        }
    }

    private static WorkCompletion turnAndSleep(CompletionQueue queue, CompletionChannel channel) {
        WorkCompletion[] one = WorkCompletion.array(1);
        PollSet set = new PollSet(1);
        for (Deadlines.Wait wait = Deadlines.begin("a completion", Polling.PATIENCE); ; wait.check()) {
            queue.requestNotification();
            if (queue.poll(one) == 1) {
                return one[0];
            }
            set.clear();
            channel.addTo(set);
            set.await(SECOND);
            channel.polled(set);
        }
    }

    @Test
    void shouldWakeForAReceive() throws InterruptedException {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            Thread echo = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 100; i++) {
                    pair.qpB.prepareRecv(i, pair.b.address(0), 64, pair.b.region.lkey());
                    pair.qpB.postRecv();
                    assertEquals(i, sleepFor(pair.queueB, pair.channelB).wrId());
                    pair.qpB.prepareSend(1000 + i, pair.b.address(0), 64, pair.b.region.lkey(), SendFlag.SIGNALED);
                    pair.qpB.postSend();
                    assertEquals(1000 + i, sleepFor(pair.queueB, pair.channelB).wrId());
                }
            });
            for (int i = 0; i < 100; i++) {
                pair.qpA.prepareRecv(i, pair.a.address(64), 64, pair.a.region.lkey());
                pair.qpA.postRecv();
                pair.qpA.prepareSend(1000 + i, pair.a.address(0), 64, pair.a.region.lkey(), SendFlag.SIGNALED);
                pair.qpA.postSend();
                // The two may come in either order: they are of different queues.
                long sum = sleepFor(pair.queueA, pair.channelA).wrId()
                        + sleepFor(pair.queueA, pair.channelA).wrId();
                assertEquals(1000 + 2L * i, sum);
            }
            echo.join();
        }
    }

    @Test
    void shouldWakeToReportADeadPeer() {
        QpOptions impatient = Connected.withRetries(14, 1, 1, 12);
        try (Sleepers pair = new Sleepers(open(), impatient)) {
            pair.read(1);
            assertEquals(1, sleepFor(pair.queueA, pair.channelA).wrId());
            pair.qpB.modifyToErr();
            pair.read(2);
            assertEquals(
                    WcStatus.RETRY_EXC_ERR, sleepFor(pair.queueA, pair.channelA).status());
        }
    }

    @Test
    void shouldWakeForReceivesThatAreFlushed() {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            pair.qpA.prepareRecv(1, pair.a.address(0), 64, pair.a.region.lkey());
            pair.qpA.postRecv();
            pair.queueA.requestNotification();
            pair.qpA.modifyToErr();
            assertEquals(
                    WcStatus.WR_FLUSH_ERR, sleepFor(pair.queueA, pair.channelA).status());
        }
    }

    @Test
    void shouldShowItselfInASetOfTheCaller() {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            PollSet set = new PollSet(1);
            pair.channelB.addTo(set);
            pair.qpB.prepareRecv(1, pair.b.address(0), 64, pair.b.region.lkey());
            pair.qpB.postRecv();
            pair.queueB.requestNotification();
            assertEquals(0, set.await(0));
            assertFalse(pair.channelB.polled(set));
            pair.qpA.prepareSend(2, pair.a.address(0), 64, pair.a.region.lkey(), SendFlag.SIGNALED);
            pair.qpA.postSend();
            new Polling(pair.queueA).success(2);
            assertEquals(1, set.await(Polling.PATIENCE.toNanos()));
            assertTrue(pair.channelB.polled(set));
            new Polling(pair.queueB).success(1);
            assertEquals(0, set.await(0));
        }
    }

    @Test
    void shouldReturnAfterItsTimeoutWhenNothingComes() {
        try (Sleepers pair = new Sleepers(open(), Connected.OPTIONS)) {
            pair.queueA.requestNotification();
            long start = System.nanoTime();
            assertFalse(pair.channelA.await(20_000_000));
            assertTrue(System.nanoTime() - start >= 19_000_000);
        }
    }

    @Test
    void shouldRefuseToArmAQueueWithoutAChannel() {
        try (VerbsFixture fixture = open();
                Side side = new Side(fixture.a())) {
            assertThrows(IllegalStateException.class, side.completions::requestNotification);
        }
    }
}
