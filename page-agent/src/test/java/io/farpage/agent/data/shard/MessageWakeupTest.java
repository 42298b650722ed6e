package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.ThreadScheduling;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The threads of two shards sleep, and an arriving message wakes them. */
final class MessageWakeupTest {
    private static final int ROUND_TRIPS = 200;

    /** A shard without work sleeps for 500 ms; a message that woke none would take that long. */
    private static final long HALF_A_SLEEP = TimeUnit.MILLISECONDS.toNanos(250);

    /** Sends each message back, as often as was asked for. */
    private static final class PingPong implements MessageListener {
        private final List<Long> receivedAt = new ArrayList<>();
        private final CountDownLatch opened = new CountDownLatch(1);
        private final CountDownLatch done;

        PingPong(int count) {
            done = new CountDownLatch(count);
        }

        @Override
        public void onOpened(MessageChannel channel) {
            opened.countDown();
        }

        @Override
        public void onMessage(MessageChannel channel, MemorySegment message) {
            receivedAt.add(System.nanoTime());
            done.countDown();
            long left = message.get(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES);
            if (left > 0) {
                send(channel, left - 1);
            }
        }

        static void send(MessageChannel channel, long left) {
            channel.claim().set(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES, left);
            channel.send(MessageChannel.HEADER_BYTES);
        }

        @Override
        public void onClosed(MessageChannel channel) {}
    }

    @ParameterizedTest
    @EnumSource
    void shouldWakeSleepingShardWhenMessageArrives(IdleStrategy idle) throws InterruptedException {
        MessageNode a = new MessageNode("a", System::nanoTime);
        MessageNode b = new MessageNode("b", System::nanoTime);
        PingPong ofA = new PingPong(ROUND_TRIPS);
        PingPong ofB = new PingPong(ROUND_TRIPS);
        a.messages = ofA;
        b.messages = ofB;
        PeerLink toB = new PeerLink("b");
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        MessageNode.connect(a, toB, b, new PeerLink("a"), 1);
        try (ShardLoop loopOfA = loop(a.shard, idle);
                ShardLoop loopOfB = loop(b.shard, idle)) {
            loopOfA.start();
            loopOfB.start();
            Deadlines.down("the channel of a", Deadlines.LONG, ofA.opened);
            Deadlines.down("the channel of b", Deadlines.LONG, ofB.opened);
            Deadlines.pass(Duration.ofMillis(20)); // both fall asleep
            loopOfA.submit(new ShardCommand.Run(() -> PingPong.send(a.channel(), 2L * ROUND_TRIPS - 1)));
            Deadlines.down("the round trips", Deadlines.LONG, ofA.done);
        } finally {
            a.node.close();
            b.node.close();
        }
        assertEquals(ROUND_TRIPS, ofA.receivedAt.size());
        long[] gaps = new long[ROUND_TRIPS - 1];
        for (int i = 0; i < gaps.length; i++) {
            gaps[i] = ofA.receivedAt.get(i + 1) - ofA.receivedAt.get(i);
        }
        Arrays.sort(gaps);
        assertTrue(gaps[gaps.length / 2] < HALF_A_SLEEP, () -> "half of the round trips took " + gaps[gaps.length / 2]);
    }

    private static ShardLoop loop(Shard shard, IdleStrategy idle) {
        return new ShardLoop(
                shard,
                new ShardLoop.Options(
                        "shard-test",
                        idle,
                        Duration.ofNanos(50_000),
                        OptionalInt.empty(),
                        ThreadScheduling.ordinary()));
    }
}
