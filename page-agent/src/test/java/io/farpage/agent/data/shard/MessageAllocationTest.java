package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Allocations;
import io.farpage.it.deadlines.Deadlines;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What messages allocate on the threads that send and receive them. */
final class MessageAllocationTest {
    /** Ignores what it receives. */
    private static final class Ignoring implements MessageListener {
        @Override
        public void onOpened(MessageChannel channel) {}

        @Override
        public void onMessage(MessageChannel channel, MemorySegment message) {}

        @Override
        public void onClosed(MessageChannel channel) {}
    }

    @Test
    void shouldAllocateNothingForAMessage() {
        try (MessageNode a = new MessageNode("a", System::nanoTime);
                MessageNode b = new MessageNode("b", System::nanoTime)) {
            a.messages = new Ignoring();
            b.messages = new Ignoring();
            PeerLink toB = new PeerLink("b");
            a.shard.submit(new ShardCommand.OpenMessages(toB));
            MessageNode.connect(a, toB, b, new PeerLink("a"), 1);
            Deadlines.await("the channels", Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> {
                        a.step();
                        b.step();
                        return a.isOpen() && b.isOpen();
                    });
            Allocations.assertNone(2_000, times -> exchange(a, b, times));
        }
    }

    private static void exchange(MessageNode a, MessageNode b, int times) {
        int fromB = a.received + times;
        int fromA = b.received + times;
        int leftOfA = times;
        int leftOfB = times;
        while (a.received < fromB || b.received < fromA) {
            leftOfA = sendAll(a.channel(), leftOfA);
            leftOfB = sendAll(b.channel(), leftOfB);
            a.shard.doWork();
            b.shard.doWork();
            assertTrue(a.channel().isOpen());
        }
    }

    /** Sends as many as there are credits for, short and long ones. Returns how many are left. */
    private static int sendAll(MessageChannel channel, int count) {
        int left = count;
        for (; left > 0 && channel.credits() > 0; left--) {
            channel.claim();
            channel.send((left & 1) == 0 ? MessageChannel.HEADER_BYTES : MessageChannel.MAX_BYTES);
        }
        return left;
    }
}
