package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The thread that polls for messages serves the connection that they come over, and what that must not change. */
@Tag("portable")
final class TurnTest {
    private static final int LENGTH = 64;
    private static final int RECEIVES = 64;

    private final Loopback pair = new Loopback(SoftOptions.DEFAULT);
    private final CompletionChannel channel = pair.server.createCompletionChannel();
    private final CompletionQueue queue = pair.server.createCompletionQueue(512, channel);
    private final CompletionSink sink = ((SoftCompletionQueue) queue).sink();
    private final QueuePair queuePair = pair.serverDomain.createQueuePair(
            queue, queue, QpOptions.DEFAULT.withSizes(QpOptions.DEFAULT.sizes().withQueues(16, RECEIVES)));
    private final WorkCompletion[] one = WorkCompletion.array(1);

    @SuppressWarnings("NullAway.Init") // set before each test
    private RawPeer peer;

    private int sent;
    private int received;

    @BeforeEach
    void connect() throws IOException {
        queuePair.modifyToInit();
        queuePair.modifyToRtr(RawPeer.endpoint(queuePair.endpoint()));
        postReceives(RECEIVES);
        peer = new RawPeer(queuePair.endpoint().lid());
        assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(queuePair.endpoint()));
    }

    @AfterEach
    void close() throws IOException {
        peer.close();
        queuePair.close();
        queue.close();
        channel.close();
        pair.close();
    }

    private void postReceives(int count) {
        for (int wrId = 0; wrId < count; wrId++) {
            queuePair.prepareRecv(wrId, pair.serverRegion.address(), LENGTH, pair.serverRegion.lkey());
        }
        queuePair.postRecv();
    }

    private byte[] message(int flags, int length) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(RawPeer.request(Wire.SEND, flags, sent++, 0, 0, length));
        byte[] payload = new byte[length];
        Arrays.fill(payload, (byte) sent);
        bytes.writeBytes(payload);
        return bytes.toByteArray();
    }

    private byte[] read() {
        return RawPeer.request(Wire.READ, sent++, pair.serverRegion.address(), pair.serverRegion.rkey(), LENGTH);
    }

    private static void await(BooleanSupplier holds) {
        Deadlines.await("the queue pair", Deadlines.SHORT)
                .pollInterval(Duration.ofMillis(1))
                .until(holds::getAsBoolean);
    }

    /** Polls as a thread does that sleeps. */
    private boolean receive() {
        queue.requestNotification();
        if (queue.poll(one) == 0) {
            channel.await(TimeUnit.MILLISECONDS.toNanos(50));
            return false;
        }
        assertEquals(WcStatus.SUCCESS, one[0].status());
        assertEquals(received++, one[0].wrId());
        return true;
    }

    private boolean isPolled() {
        return sink.polled().get() == 1;
    }

    /** Sends messages alone, until the thread that polls serves the connection. */
    private void pass() throws IOException {
        for (int i = 0; i < Turn.MESSAGES; i++) {
            peer.send(message(Wire.FLAG_UNANSWERED, LENGTH));
            await(this::receive);
        }
        await(this::isPolled);
    }

    private void assertReply(int opcode, WcStatus status) throws IOException {
        byte[] reply = peer.read(Wire.REPLY_SIZE);
        assertEquals((byte) (opcode | Wire.REPLY_BIT), reply[0]);
        assertEquals(status.code(), reply[1]);
        assertEquals(RawPeer.PSN + sent - 1, MemorySegment.ofArray(reply).get(Wire.INT, 4));
    }

    @Test
    void shouldReceiveMessagesOnThePollingThread() throws IOException {
        pass();
        for (int i = 0; i < RECEIVES - Turn.MESSAGES; i++) {
            peer.send(message(i % 4 == 3 ? 0 : Wire.FLAG_UNANSWERED, i % 2 == 0 ? LENGTH : 8));
            await(this::receive);
            assertEquals(sent, pair.serverMemory.get(ValueLayout.JAVA_BYTE, 0));
            assertTrue(isPolled());
            if (i % 4 == 3) {
                assertReply(Wire.SEND, WcStatus.SUCCESS);
            }
        }
    }

    @Test
    void shouldWaitForTheRestOfAMessage() throws IOException {
        pass();
        byte[] message = message(0, LENGTH);
        for (int at = 0; at < message.length; at += 24) {
            assertEquals(Turn.MESSAGES, received);
            peer.send(Arrays.copyOfRange(message, at, Math.min(message.length, at + 24)));
            receive();
            queue.poll(one);
        }
        assertReply(Wire.SEND, WcStatus.SUCCESS);
    }

    @Test
    void shouldGiveTheTurnBackForARead() throws IOException {
        pass();
        peer.send(message(Wire.FLAG_UNANSWERED, LENGTH));
        peer.send(read());
        await(() -> !receive() && !isPolled());
        assertReply(Wire.READ, WcStatus.SUCCESS);
        assertEquals(LENGTH, peer.read(LENGTH).length);
        pass();
    }

    /** A home's agent may do something else for long; its frames are read nevertheless. */
    @Test
    void shouldServeAReadWhenTheOtherThreadDoesNotPoll() throws IOException {
        pass();
        peer.send(read());
        assertReply(Wire.READ, WcStatus.SUCCESS);
    }

    @Test
    void shouldKeepTheTurnForWritesOfNoBytesAlone() throws IOException {
        pass();
        peer.send(RawPeer.request(Wire.WRITE, sent++, 0, 0, 0));
        for (int i = 0; i < 3; i++) {
            receive();
        }
        assertReply(Wire.WRITE, WcStatus.SUCCESS);
        assertTrue(isPolled());
        peer.send(RawPeer.request(Wire.WRITE, sent++, pair.serverRegion.address(), pair.serverRegion.rkey(), LENGTH));
        peer.send(new byte[LENGTH]);
        await(() -> !receive() && !isPolled());
        assertReply(Wire.WRITE, WcStatus.SUCCESS);
    }

    @Test
    void shouldWaitForAReceiveOnTheOtherThread() throws IOException {
        pass();
        for (int i = Turn.MESSAGES; i < RECEIVES; i++) {
            peer.send(message(Wire.FLAG_UNANSWERED, LENGTH));
            await(this::receive);
        }
        peer.send(message(0, LENGTH));
        await(() -> !receive() && !isPolled());
        assertReply(Wire.SEND, WcStatus.RNR_RETRY_EXC_ERR);
    }

    @Test
    void shouldNotWaitForAReceiveInAPoll() throws IOException {
        queuePair.modifyToReset();
        peer.close();
        queuePair.modifyToInit();
        queuePair.modifyToRtr(RawPeer.endpoint(queuePair.endpoint()));
        postReceives(Turn.MESSAGES);
        peer = new RawPeer(queuePair.endpoint().lid());
        assertEquals(HelloReply.Verdict.ACCEPTED, peer.greetPatiently(queuePair.endpoint()));
        pass();
        peer.send(message(0, LENGTH));
        await(() -> !receive() && !isPolled());
        postReceives(1);
        assertReply(Wire.SEND, WcStatus.SUCCESS);
    }

    @Test
    void shouldRefuseAMessageThatIsTooLong() throws IOException {
        pass();
        peer.send(message(Wire.FLAG_UNANSWERED, LENGTH + 1));
        await(() -> queue.poll(one) == 1);
        assertEquals(WcStatus.LOC_LEN_ERR, one[0].status());
        assertReply(Wire.SEND, WcStatus.REM_INV_REQ_ERR);
        await(() -> queuePair.state() == QpState.ERR);
    }

    @Test
    void shouldRefuseWhatIsNoRequest() throws IOException {
        pass();
        peer.send(new byte[Wire.REQUEST_SIZE]);
        // The receives that are left are flushed.
        await(() -> queue.poll(one) == 0 && !isPolled());
        assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        await(() -> queuePair.state() == QpState.ERR);
    }

    @Test
    void shouldTakeAnotherConnectionWhenThePeerHasGone() throws IOException {
        pass();
        peer.close();
        await(() -> !receive() && !isPolled());
        await(() -> {
            try {
                peer = new RawPeer(queuePair.endpoint().lid());
                return peer.greet(queuePair.endpoint()) == HelloReply.Verdict.ACCEPTED;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Test
    void shouldEndWithItsQueuePair() throws IOException {
        pass();
        long began = System.nanoTime();
        queuePair.modifyToReset();
        assertEquals(0, sink.polled().get());
        assertTrue(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(5), "the responder did not end");
    }
}
