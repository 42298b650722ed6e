package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two shards exchange messages over the soft provider; the test runs the duty cycles of both. */
final class MessagesTest {
    private static final int EXCHANGED = 100_000;
    /** The id of a SEND whose completion the shard ignores. */
    private static final long NO_CHANNEL = WrId.message(WrId.SEND, (char) 0, 7, 0);

    private long now = 1_000_000_000;
    private final MessageNode a = new MessageNode("a", () -> now);
    private final MessageNode b = new MessageNode("b", () -> now);
    private final PeerLink toB = new PeerLink("b");
    private final PeerLink toA = new PeerLink("a");

    @AfterEach
    void close() {
        a.close();
        b.close();
    }

    @Test
    void shouldOpenBothSidesWhenOneWantsMessages() {
        connect();
        runUntil(() -> toA.isUp() && toB.isUp());
        run(20);
        assertEquals(List.of(), a.events, "an agent that exchanges none takes no memory");
        assertEquals(0, a.memory.taken() + b.memory.taken());
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        runUntil(() -> a.isOpen() && b.isOpen());
        assertEquals(List.of("opened b"), a.events);
        assertEquals(List.of("opened a"), b.events);
        assertEquals(LinkChannel.CREDITS, a.channel().credits());
        assertEquals(Home.INCARNATION, a.channel().incarnation());
        a.send(1);
        b.send(2);
        runUntil(() -> a.received == 1 && b.received == 1);
        assertEquals(List.of("opened b", "message 2"), a.events);
        assertEquals(List.of("opened a", "message 1"), b.events);
    }

    @Test
    void shouldOpenWhenBothSidesWantMessagesBeforeLinkIsUp() {
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        b.shard.submit(new ShardCommand.OpenMessages(toA));
        connect();
        runUntil(() -> a.isOpen() && b.isOpen());
        assertEquals(List.of("opened b"), a.events);
        assertEquals(List.of("opened a"), b.events);
    }

    @Test
    void shouldKeepHelloThatComesBeforeItsQueuePairIsInstalled() {
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        QueuePair mine = a.create(1);
        QueuePair theirs = b.create(1);
        mine.modifyToRtr(theirs.endpoint());
        theirs.modifyToRtr(mine.endpoint());
        mine.modifyToRts();
        theirs.modifyToRts();
        a.install(toB, mine, b, 1);
        runUntil(toB::isUp);
        run(100);
        assertFalse(a.isOpen());
        b.install(toA, theirs, a, 1);
        runUntil(() -> a.isOpen() && b.isOpen());
    }

    @Test
    void shouldDeliverInOrderWhenBothSidesSendAtRandom() {
        open();
        long seed = System.nanoTime();
        Exchange first = new Exchange(a, seed);
        Exchange second = new Exchange(b, seed + 1);
        first.expected = new Random(seed + 1);
        second.expected = new Random(seed);
        try {
            runUntil(() -> {
                assertEquals(List.of(), a.releases(), "no SEND has found a receiver that is not ready");
                assertEquals(List.of(), b.releases());
                first.send();
                second.send();
                return a.received == EXCHANGED && b.received == EXCHANGED;
            });
            runUntil(() -> toA.isIdle() && toB.isIdle());
        } catch (Throwable e) {
            throw new AssertionError("seed " + seed, e);
        }
        assertTrue(first.fewest == 0 && second.fewest == 0, "both have run out of credits");
    }

    /** Sends at random what the other node's generator repeats. */
    private static final class Exchange implements MessageListener {
        private final MessageNode node;
        private final Random sending;
        private final Random pace;
        private Random expected = new Random();
        private int sent;
        private int fewest = LinkChannel.CREDITS;

        Exchange(MessageNode node, long seed) {
            this.node = node;
            sending = new Random(seed);
            pace = new Random(-seed);
            node.messages = this;
        }

        void send() {
            MessageChannel channel = node.channel();
            int count = pace.nextInt(2 * LinkChannel.CREDITS);
            for (int i = 0; i < count && sent < EXCHANGED && channel.credits() > 0; i++) {
                MemorySegment message = channel.claim();
                int length = length(sending);
                message.set(ValueLayout.JAVA_INT, MessageChannel.PLANE_BYTES, sent++);
                for (long at = 16; at + 8 <= length; at += 512) {
                    message.set(ValueLayout.JAVA_LONG_UNALIGNED, at, sending.nextLong());
                }
                message.set(ValueLayout.JAVA_BYTE, length - 1, (byte) length);
                channel.send(length);
                fewest = Math.min(fewest, channel.credits());
            }
        }

        private static int length(Random random) {
            return switch (random.nextInt(4)) {
                case 0 -> MessageChannel.HEADER_BYTES;
                case 1 -> MessageChannel.MAX_BYTES;
                default -> random.nextInt(MessageChannel.HEADER_BYTES, MessageChannel.MAX_BYTES + 1);
            };
        }

        @Override
        public void onOpened(MessageChannel channel) {}

        @Override
        public void onMessage(MessageChannel channel, MemorySegment message) {
            int length = length(expected);
            assertEquals(length, message.byteSize());
            assertEquals(node.received - 1, message.get(ValueLayout.JAVA_INT, MessageChannel.PLANE_BYTES));
            assertEquals((byte) length, message.get(ValueLayout.JAVA_BYTE, length - 1));
            for (long at = 16; at + 8 <= length; at += 512) {
                long value = expected.nextLong();
                if (at + 8 < length) {
                    assertEquals(value, message.get(ValueLayout.JAVA_LONG_UNALIGNED, at));
                }
            }
            if (pace.nextInt(8) == 0 && channel.credits() > 0 && sent < EXCHANGED) {
                send();
            }
        }

        @Override
        public void onClosed(MessageChannel channel) {}
    }

    @Test
    void shouldReturnCreditsByThemselvesWhenOneSideSends() {
        open();
        b.messages = new Counting();
        int[] sent = {0};
        runUntil(() -> {
            assertEquals(List.of(), a.releases());
            while (a.channel().credits() > 0 && sent[0] < 10_000) {
                a.send(sent[0]++);
            }
            return b.received == 10_000;
        });
        assertEquals(0, a.received, "a return of credits is not a message");
        runUntil(() -> a.channel().credits() > LinkChannel.RETURNED_AT);
        assertEquals(List.of(), a.releases());
        assertEquals(List.of(), b.releases());
    }

    @Test
    void shouldTakeNoMoreThanCreditsWhenPeerDoesNotRun() {
        open();
        int sent = 0;
        for (; a.channel().credits() > 0 && sent <= LinkChannel.CREDITS; sent++) {
            a.send(sent);
        }
        assertEquals(LinkChannel.CREDITS, sent);
        for (int cycle = 0; cycle < 100; cycle++) {
            a.step();
        }
        assertEquals(0, a.channel().credits(), "the peer has not received what arrived");
        IllegalStateException refusal =
                assertThrows(IllegalStateException.class, () -> a.channel().send(MessageChannel.HEADER_BYTES));
        assertTrue(String.valueOf(refusal.getMessage()).contains("no credit"));
        runUntil(() -> b.received == LinkChannel.CREDITS && a.channel().credits() >= LinkChannel.RETURNED_AT);
    }

    @Test
    void shouldKeepSendBufferUntilItsSendHasCompleted() {
        FaultyQueue queue = a.failingQueue();
        open();
        runUntil(() -> toA.isIdle() && toB.isIdle());
        queue.holds = true;
        for (int sent = 0; sent < LinkChannel.CREDITS; sent++) {
            a.send(sent);
        }
        runUntil(() -> b.received == LinkChannel.CREDITS
                && held(queue, WcOpcode.SEND) == LinkChannel.CREDITS / LinkChannel.SIGNALED_EVERY
                && held(queue, WcOpcode.RECV) > 0);
        queue.held.stream().filter(wc -> wc.opcode() == WcOpcode.RECV).forEach(a.shard::complete);
        assertEquals(0, a.channel().credits(), "credits are back, and no buffer is free");
        queue.held.stream().filter(wc -> wc.opcode() == WcOpcode.SEND).forEach(a.shard::complete);
        assertTrue(a.channel().credits() >= LinkChannel.RETURNED_AT);
    }

    private static long held(FaultyQueue queue, WcOpcode opcode) {
        return queue.held.stream().filter(wc -> wc.opcode() == opcode).count();
    }

    @Test
    void shouldFlushMessagesWhenNoneThatIsSignaledFollows() {
        open();
        runUntil(() -> toA.isIdle() && toB.isIdle());
        a.send(1);
        a.send(2);
        stepUntil(() -> b.received == 2);
        assertFalse(toB.isIdle(), "their completion is not known");
        assertTrue(a.shard.hasDeadlines());
        runUntil(toB::isIdle);
        run(200);
        assertEquals(LinkChannel.CREDITS - 2, a.channel().credits(), "nothing was sent for it");
        assertFalse(a.shard.hasDeadlines());
        a.send(3);
        runUntil(() -> b.received == 3 && toB.isIdle());
        assertFalse(a.shard.hasDeadlines());
    }

    @Test
    void shouldGoOnWhenNumbersOfMessagesWrapAround() {
        assertEquals(LinkChannel.CREDITS - 1, LinkChannel.buffer(Integer.MAX_VALUE));
        assertEquals(0, LinkChannel.buffer(Integer.MIN_VALUE));
        assertTrue(LinkChannel.isSignaled(Integer.MAX_VALUE));
        assertFalse(LinkChannel.isSignaled(Integer.MIN_VALUE));
    }

    @Test
    void shouldLeaveTransfersTheirRoomWhenAllCreditsAreUsed() {
        open();
        Fetcher fetcher = a.shard.newFetcher(MessageNode.TRANSFERS, TimeUnit.SECONDS.toNanos(2));
        for (int sent = 0; sent < LinkChannel.CREDITS; sent++) {
            a.send(sent);
        }
        for (int page = 0; page < MessageNode.TRANSFERS; page++) {
            read(fetcher, page);
        }
        assertFalse(fetcher.hasParked(), "messages take no entries of transfers");
        assertFalse(a.shard.awaitsOnlyTransfers(), "a message must end a sleep at once");
        runUntil(() -> b.received == LinkChannel.CREDITS);
        assertDone(fetcher, MessageNode.TRANSFERS);
    }

    @Test
    void shouldLeaveMessagesTheirRoomWhenTransfersWait() {
        open();
        int reads = MessageNode.TRANSFERS + LinkChannel.SENDS;
        Fetcher fetcher = a.shard.newFetcher(reads, TimeUnit.HOURS.toNanos(1));
        for (int page = 0; page < reads; page++) {
            read(fetcher, page);
        }
        assertTrue(fetcher.hasParked());
        for (int sent = 0; sent < LinkChannel.CREDITS; sent++) {
            a.send(sent);
        }
        runUntil(() -> b.received == LinkChannel.CREDITS);
        assertDone(fetcher, reads);
        assertEquals(List.of(), a.releases());
    }

    private void read(Fetcher fetcher, int page) {
        fetcher.read(
                Priority.DEMAND,
                toB,
                Home.INCARNATION,
                (long) page * Home.PAGE,
                Home.PAGE,
                a.node.pool.stagingAddress() + (200L + page) * Home.PAGE);
    }

    private void assertDone(Fetcher fetcher, int count) {
        for (int done = 0; done < count; done++) {
            runUntil(fetcher::hasDone);
            int slot = fetcher.poll();
            assertEquals(FetchStatus.OK, fetcher.status(slot));
            fetcher.release(slot);
        }
    }

    @Test
    void shouldOpenAnotherChannelWhenQueuePairFails() {
        open();
        MessageChannel first = a.channel();
        a.send(1);
        runUntil(() -> b.received == 1);
        int free = a.node.pool.stagingFrames().available();
        a.shard.failLink(toB, "for a test");
        assertFalse(first.isOpen());
        assertEquals(0, first.credits());
        assertEquals(1, a.memory.taken(), "the queue pair is not destroyed yet");
        runUntil(() -> a.memory.taken() == 0 && a.events.contains("closed b"));
        assertTrue(a.node.pool.stagingFrames().available() > free);
        b.shard.failLink(toA, "for a test");
        runUntil(() -> toA.phase() == LinkPhase.DOWN && toB.phase() == LinkPhase.DOWN);
        connect(2);
        runUntil(() -> a.isOpen() && b.isOpen());
        assertNotSame(first, a.channel());
        a.send(2);
        b.send(3);
        runUntil(() -> a.received == 1 && b.received == 2);
        assertEquals(List.of("opened b", "closed b", "opened b", "message 3"), a.events);
        assertEquals(List.of("opened a", "message 1", "closed a", "opened a", "message 2"), b.events);
    }

    @Test
    void shouldCloseChannelWhenQueuePairIsCutAmidMessages() {
        open();
        for (int sent = 0; sent < LinkChannel.CREDITS; sent++) {
            a.send(sent);
        }
        b.step();
        toA.connection().queuePair().modifyToErr();
        runUntil(() -> !a.isOpen() && !b.isOpen());
        runUntil(() -> a.events.contains("closed b") && b.events.contains("closed a"));
        runUntil(() -> a.memory.taken() == 0 && b.memory.taken() == 0);
        assertFalse(a.shard.hasDeadlines());
    }

    @Test
    void shouldOpenNoOtherChannelWhenMessagesAreNoLongerWanted() {
        open();
        a.shard.submit(new ShardCommand.CloseMessages(toB));
        run(10);
        assertTrue(a.isOpen(), "the peer may use it");
        a.shard.failLink(toB, "for a test");
        b.shard.failLink(toA, "for a test");
        runUntil(() -> toA.phase() == LinkPhase.DOWN && toB.phase() == LinkPhase.DOWN);
        connect(2);
        runUntil(() -> toA.isUp() && toB.isUp());
        run(200);
        assertFalse(a.isOpen() || b.isOpen());
    }

    @Test
    void shouldOpenAnotherChannelWhenLinkSwitchesToTrial() {
        open();
        PeerLink trialToB = PeerLink.ofTrial("b");
        PeerLink trialToA = PeerLink.ofTrial("a");
        MessageNode.connect(a, trialToB, b, trialToA, 2);
        runUntil(() -> trialToA.isUp() && trialToB.isUp());
        MessageChannel first = a.channel();
        a.send(1);
        a.shard.submit(new ShardCommand.Switch(toB, trialToB));
        runUntil(() -> toB.isUp() && toB.isOfAttempt(2));
        assertFalse(first.isOpen());
        b.send(2); // over the queue pair that the other side has left
        run(100);
        assertFalse(a.isOpen(), "the peer has not switched");
        assertTrue(b.isOpen());
        b.shard.submit(new ShardCommand.Switch(toA, trialToA));
        runUntil(() -> a.isOpen() && b.isOpen() && toA.isOfAttempt(2));
        assertEquals(2, a.memory.taken());
        a.send(3);
        b.send(4);
        runUntil(() -> a.received == 1 && b.received == 2);
        assertEquals(List.of("opened b", "closed b", "opened b", "message 4"), a.events);
        assertEquals(List.of("opened a", "message 1", "closed a", "opened a", "message 3"), b.events);
        a.shard.submit(new ShardCommand.Remove(trialToB, 1, "replaced"));
        b.shard.submit(new ShardCommand.Remove(trialToA, 1, "replaced"));
        runUntil(() -> a.memory.taken() == 1 && b.memory.taken() == 1);
        assertTrue(a.isOpen() && b.isOpen());
    }

    @Test
    void shouldKeepChannelWhenSwitchIsGivenUp() {
        FaultyQueue queue = a.failingQueue();
        open();
        PeerLink trialToB = PeerLink.ofTrial("b");
        PeerLink trialToA = PeerLink.ofTrial("a");
        MessageNode.connect(a, trialToB, b, trialToA, 2);
        runUntil(() -> trialToA.isUp() && trialToB.isUp());
        MessageChannel first = a.channel();
        runUntil(() -> toA.isIdle() && toB.isIdle());
        queue.holds = true;
        a.send(1);
        a.shard.submit(new ShardCommand.Switch(toB, trialToB));
        a.step();
        assertEquals(LinkPhase.SWITCHING, toB.phase());
        assertEquals(0, first.credits(), "what is sent now would be lost");
        assertTrue(first.isOpen());
        for (int sent = 0; sent < LinkChannel.RETURNED_AT; sent++) {
            b.send(sent);
        }
        runUntil(() -> queue.held.size() == LinkChannel.RETURNED_AT + 1);
        queue.held.stream().filter(wc -> wc.opcode() == WcOpcode.RECV).forEach(a.shard::complete);
        run(20);
        assertEquals(LinkChannel.RETURNED_AT, a.received);
        assertEquals(LinkPhase.SWITCHING, toB.phase());
        assertEquals(1, toB.outstanding(), "no credits are returned meanwhile");
        a.shard.failLink(trialToB, "for a test");
        queue.held.stream().filter(wc -> wc.opcode() != WcOpcode.RECV).forEach(a.shard::complete);
        queue.holds = false;
        runUntil(toB::isUp);
        assertSame(first, a.channel());
        assertTrue(first.isOpen());
        runUntil(() -> b.channel().credits() == LinkChannel.CREDITS);
        a.send(2);
        runUntil(() -> b.received == 2);
        assertEquals(List.of("opened a", "message 1", "message 2"), b.events);
    }

    @Test
    void shouldFailLinkWhenHelloIsGarbage() {
        assertHelloFails(MessageChannel.HEADER_BYTES, _ -> {}, "kind 0 with the magic 0x00000000");
        assertHelloFails(MessageChannel.HEADER_BYTES, hello -> MessageHeader.writeHello(hello, 31), "gives 31 credits");
        assertHelloFails(
                MessageChannel.HEADER_BYTES,
                hello -> {
                    MessageHeader.writeHello(hello, LinkChannel.CREDITS);
                    hello.set(ValueLayout.JAVA_BYTE, 1, (byte) 9);
                },
                "has version 9, and this agent speaks 1");
        assertHelloFails(
                MessageChannel.HEADER_BYTES,
                hello -> {
                    MessageHeader.writeHello(hello, LinkChannel.CREDITS);
                    hello.set(ValueLayout.JAVA_INT, 12, 99);
                },
                "takes messages of 99 bytes, not 4160");
        assertHelloFails(8, hello -> MessageHeader.writeHello(hello, LinkChannel.CREDITS), "has 8 bytes, not 64");
        assertHelloFails(
                MessageChannel.MAX_BYTES,
                hello -> MessageHeader.writeHello(hello, LinkChannel.CREDITS),
                "the receive of a message failed: LOC_LEN_ERR");
    }

    private interface Bytes {
        void write(MemorySegment to);
    }

    private long attempts = 100;

    /** The peer is a queue pair alone, over which the test sends. */
    private void assertHelloFails(int length, Bytes hello, String reason) {
        long attempt = ++attempts;
        QueuePair mine = a.create(attempt);
        QueuePair theirs = b.node.queuePair();
        mine.modifyToRtr(theirs.endpoint());
        theirs.modifyToRtr(mine.endpoint());
        mine.modifyToRts();
        theirs.modifyToRts();
        a.install(toB, mine, b, attempt);
        runUntil(toB::isUp);
        MemorySegment memory = b.node.pool.staging().asSlice(300L * Home.PAGE, MessageChannel.MAX_BYTES);
        memory.fill((byte) 0);
        hello.write(memory);
        theirs.prepareSend(NO_CHANNEL, memory.address(), length, b.node.rail().stagingLkey(), 0);
        theirs.postSend();
        runUntil(() -> toB.phase() == LinkPhase.DOWN);
        assertTrue(a.releases().getLast().contains(reason), a.releases()::toString);
        ShardNotice.Released notice = (ShardNotice.Released) a.notices.getLast();
        assertTrue(notice.refused(), "the next queue pair would fail as well");
        theirs.close();
    }

    @Test
    void shouldFailLinkWhenMessageIsGarbage() {
        assertMessageFails(message -> message.fill((byte) 0), "has version 0, not 1");
        assertMessageFails(message -> MessageHeader.write(message, (byte) 7, 0, 0), "is of kind 7");
        assertMessageFails(message -> MessageHeader.write(message, MessageHeader.MESSAGE, 0, 5), "is number 5 where");
        assertMessageFails(
                message -> MessageHeader.write(message, MessageHeader.MESSAGE, 1, 0), "returns 1 credits where 0");
        assertMessageFails(
                message -> MessageHeader.write(message, MessageHeader.CREDIT, 0, 0), "returns 0 credits with 64 bytes");
    }

    private void assertMessageFails(Bytes message, String reason) {
        a.events.clear();
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        connect(++attempts);
        runUntil(() -> a.isOpen() && b.isOpen());
        sendRaw(message);
        runUntil(() -> toB.phase() == LinkPhase.DOWN);
        assertTrue(a.releases().getLast().contains(reason), a.releases()::toString);
        assertEquals(List.of("opened b", "closed b"), a.events);
        b.shard.failLink(toA, "for a test");
        runUntil(() -> toA.phase() == LinkPhase.DOWN);
    }

    /** Sends behind the back of b's channel. */
    private void sendRaw(Bytes message) {
        MemorySegment memory = b.node.pool.staging().asSlice(300L * Home.PAGE, MessageChannel.HEADER_BYTES);
        message.write(memory);
        toA.prepareMessage(NO_CHANNEL, memory.address(), MessageChannel.HEADER_BYTES, true, now);
        b.shard.postLater(toA);
        b.shard.doWork();
    }

    @Test
    void shouldFailLinkWhenPeerSendsWithoutCredit() {
        open();
        QueuePair theirs = toA.connection().queuePair();
        int all = theirs.options().sizes().maxSendWr();
        for (int sent = 0; sent <= LinkChannel.CREDITS; sent++) {
            int number = sent;
            sendRaw(message -> MessageHeader.write(message, MessageHeader.MESSAGE, 0, number));
            Deadlines.await("the acknowledgement", Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> {
                        b.shard.doWork();
                        return theirs.sendQueueSpace() == all;
                    });
        }
        now += TimeUnit.MILLISECONDS.toNanos(2);
        a.shard.slept(0);
        a.shard.doWork(); // judges deadlines, so it handles all that has arrived before it returns credits
        assertEquals(LinkChannel.CREDITS, a.received);
        assertFalse(a.isOpen());
        runUntil(() -> !a.releases().isEmpty());
        assertTrue(a.releases().getFirst().contains("was sent without a credit"), a.releases()::toString);
    }

    @Test
    void shouldNameKeyAndWaitWhenThereIsNoRoom() {
        try (MessageNode small = new MessageNode("small", () -> now, 1)) {
            PeerLink smallToA = new PeerLink("a");
            PeerLink smallToB = new PeerLink("b");
            PeerLink aToSmall = new PeerLink("small");
            PeerLink bToSmall = new PeerLink("small");
            MessageNode.connect(small, smallToA, a, aToSmall, 1);
            MessageNode.connect(small, smallToB, b, bToSmall, 2);
            small.shard.submit(new ShardCommand.OpenMessages(smallToA));
            runUntil(() -> stepped(small) && small.isOpen() && a.isOpen());
            b.shard.submit(new ShardCommand.OpenMessages(bToSmall));
            runUntil(() -> {
                small.step();
                QueuePairMessages messages = smallToB.messages();
                return messages != null && messages.isPeerReady() && messages.waitsForRoom();
            });
            for (int cycle = 0; cycle < 20; cycle++) {
                run(1);
                small.step();
            }
            assertEquals(List.of("opened a"), small.events);
            assertFalse(b.isOpen());
            assertTrue(smallToB.isUp(), "transfers go on");
            small.shard.failLink(smallToA, "for a test");
            runUntil(() -> stepped(small) && b.isOpen());
            assertEquals(List.of("opened a", "closed a", "opened b"), small.events);
        }
    }

    private static boolean stepped(MessageNode node) {
        node.step();
        return true;
    }

    @Test
    void shouldWaitWhenPoolHasNoStagingFrames() {
        connect();
        runUntil(() -> toA.isUp() && toB.isUp());
        var frames = a.node.pool.stagingFrames();
        int first = frames.allocateRun(frames.available());
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        run(100);
        assertEquals(0, a.memory.taken());
        assertTrue(toB.isUp());
        frames.freeRun(first, 100);
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        runUntil(() -> a.isOpen() && b.isOpen());
    }

    @Test
    void shouldFailLinkWhenListenerThrows() {
        open();
        a.messages = new Counting() {
            @Override
            public void onMessage(MessageChannel channel, MemorySegment message) {
                throw new IllegalStateException("for a test");
            }
        };
        b.send(1);
        runUntil(() -> toB.phase() == LinkPhase.DOWN);
        assertEquals(
                "the listener of messages threw java.lang.IllegalStateException: for a test",
                a.releases().getFirst());
        assertTrue(a.events.contains("closed b"));
    }

    @Test
    void shouldFailLinkWhenPeerAcknowledgesNoMessage() {
        FaultyQueue queue = a.failingQueue();
        open();
        runUntil(toB::isQuiet);
        queue.holds = true;
        advance(TimeUnit.SECONDS.toNanos(1));
        a.send(1);
        a.step();
        assertTrue(a.shard.hasDeadlines());
        advance(LinkChannel.FLUSHED_AFTER_NANOS);
        assertFalse(toB.isQuiet(), "it is asked whether the message has come");
        assertTrue(toB.answers(a.shard.silence().now()), "silence begins with that");
        advance(Messages.UNACKNOWLEDGED_NANOS - TimeUnit.MILLISECONDS.toNanos(100));
        assertTrue(toB.isUp());
        assertFalse(toB.answers(a.shard.silence().now()), "it counts as silent, as with a READ");
        advance(TimeUnit.MILLISECONDS.toNanos(200));
        assertEquals(LinkPhase.DRAINING, toB.phase());
        assertEquals("the peer has not acknowledged a message for 10 s", toB.lastFailure());
    }

    /** Ignores what it receives. */
    private static class Counting implements MessageListener {
        @Override
        public void onOpened(MessageChannel channel) {}

        @Override
        public void onMessage(MessageChannel channel, MemorySegment message) {}

        @Override
        public void onClosed(MessageChannel channel) {}
    }

    @Test
    void shouldFailLinkWithoutTransfersWhenItsQueuePairFails() {
        connect();
        runUntil(() -> toA.isUp() && toB.isUp());
        toB.connection().queuePair().modifyToErr();
        assertEquals(QpState.ERR, toB.connection().queuePair().state());
        runUntil(() -> toB.phase() == LinkPhase.DOWN);
        assertEquals(0, a.rail.errors(WcStatus.WR_FLUSH_ERR));
    }

    private void connect() {
        connect(1);
    }

    private void connect(long attempt) {
        MessageNode.connect(a, toB, b, toA, attempt);
    }

    private void open() {
        connect();
        a.shard.submit(new ShardCommand.OpenMessages(toB));
        runUntil(() -> a.isOpen() && b.isOpen());
    }

    private void run(int cycles) {
        for (int cycle = 0; cycle < cycles; cycle++) {
            now += TimeUnit.MICROSECONDS.toNanos(100);
            step();
        }
    }

    private void step() {
        a.step();
        b.step();
    }

    /** Advances the clock with a duty cycle after each step. */
    private void advance(long nanos) {
        long end = now + nanos;
        while (now < end) {
            now = Math.min(end, now + TimeUnit.MILLISECONDS.toNanos(100));
            a.shard.slept(0);
            a.step();
        }
    }

    private void runUntil(BooleanSupplier holds) {
        cycleUntil(holds, () -> run(1));
    }

    /** The clock stands meanwhile. */
    private void stepUntil(BooleanSupplier holds) {
        cycleUntil(holds, this::step);
    }

    private static void cycleUntil(BooleanSupplier holds, Runnable cycle) {
        Deadlines.await("the shards", Deadlines.SHORT)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> {
                    for (int done = 0; done < 100 && !holds.getAsBoolean(); done++) {
                        cycle.run();
                    }
                    return holds.getAsBoolean();
                });
    }
}
