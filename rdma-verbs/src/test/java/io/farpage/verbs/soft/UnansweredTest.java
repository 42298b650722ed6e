package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that are replied to only if they are refused, from both sides of the wire. */
@Tag("portable")
final class UnansweredTest {
    private static final int LENGTH = 64;
    private static final int KEY = 7;

    private final Loopback pair = new Loopback(SoftOptions.DEFAULT);
    private final CompletionChannel channel = pair.caller.createCompletionChannel();
    private final CompletionQueue queue = pair.caller.createCompletionQueue(512, channel);
    private final WorkCompletion[] one = WorkCompletion.array(1);

    /** Calls a socket of the test. */
    private QueuePair initiator = pair.callerDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);

    /** Serves a socket of the test. */
    private QueuePair responder = pair.callerDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);

    private final ServerSocket server = listen();

    private static ServerSocket listen() {
        try {
            return new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @BeforeEach
    void connect() {
        QpEndpoint own = pair.from.endpoint();
        initiator.modifyToInit();
        initiator.modifyToRtr(new QpEndpoint(
                RawPeer.QPN, ((InetSocketAddress) server.getLocalSocketAddress()).getPort(), own.gid(), RawPeer.PSN));
        initiator.modifyToRts();
        responder.modifyToInit();
        responder.modifyToRtr(RawPeer.endpoint(responder.endpoint()));
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        initiator.close();
        responder.close();
        queue.close();
        channel.close();
        pair.close();
    }

    private byte[] write(int flags, int sequence, int key) {
        return RawPeer.request(Wire.WRITE, flags, sequence, pair.callerRegion.address(), key, 0);
    }

    // ---- as responder

    @Test
    void shouldReplyOnlyToRequestThatWantsIt() throws Exception {
        try (RawPeer peer = new RawPeer(responder.endpoint().lid())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(responder.endpoint()));
            peer.send(write(Wire.FLAG_UNANSWERED, 0, 0));
            peer.send(write(Wire.FLAG_UNANSWERED, 1, 0));
            peer.send(write(0, 2, 0));

            assertReply(peer.read(Wire.REPLY_SIZE), 2, WcStatus.SUCCESS);
        }
    }

    @Test
    void shouldReplyToUnansweredRequestThatItRefuses() throws Exception {
        try (RawPeer peer = new RawPeer(responder.endpoint().lid())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(responder.endpoint()));
            peer.send(write(Wire.FLAG_UNANSWERED, 0, 0));
            peer.send(RawPeer.request(
                    Wire.WRITE, Wire.FLAG_UNANSWERED, 1, pair.callerRegion.address() - LENGTH, 0, LENGTH));
            peer.halfClose();

            byte[] reply = peer.readToEnd();
            assertEquals(Wire.REPLY_SIZE, reply.length);
            assertReply(reply, 1, WcStatus.REM_ACCESS_ERR);
        }
    }

    @Test
    void shouldRefuseReadThatWantsNoReply() throws Exception {
        try (RawPeer peer = new RawPeer(responder.endpoint().lid())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(responder.endpoint()));
            peer.send(RawPeer.request(Wire.READ, Wire.FLAG_UNANSWERED, 0, pair.callerRegion.address(), 0, 0));

            assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        }
    }

    @Test
    void shouldSpeakTheVersionThatTheCallerSpeaks() throws Exception {
        try (RawPeer peer = new RawPeer(responder.endpoint().lid())) {
            HelloReply reply = peer.greet(Wire.OLDEST_VERSION, responder.endpoint());
            assertEquals(HelloReply.Verdict.ACCEPTED, reply.verdict());
            assertEquals(Wire.OLDEST_VERSION, reply.version());
            peer.send(write(Wire.FLAG_UNANSWERED, 0, 0));

            assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        }
    }

    private static void assertReply(byte[] reply, int sequence, WcStatus status) {
        MemorySegment bytes = MemorySegment.ofArray(reply);
        assertEquals(status.code(), bytes.get(JAVA_BYTE, 1));
        assertEquals(RawPeer.PSN + sequence, bytes.get(Wire.INT, 4));
    }

    // ---- as initiator

    /** The socket that the initiator calls, after its hello. */
    private Socket accept(int version) throws Exception {
        AtomicReference<Socket> caller = new AtomicReference<>();
        Thread accepting = Thread.ofVirtual().start(() -> caller.set(acceptOne()));
        await(() -> queue.poll(one) == 0 && caller.get() != null);
        accepting.join();
        Socket accepted = Objects.requireNonNull(caller.get());
        accepted.setSoTimeout(10_000);
        accepted.setTcpNoDelay(true);
        await(() -> queue.poll(one) == 0 && available(accepted) >= Wire.HELLO_SIZE);
        byte[] hello = accepted.getInputStream().readNBytes(Wire.HELLO_SIZE);
        assertEquals(version, MemorySegment.ofArray(hello).get(Wire.SHORT, 4));
        return accepted;
    }

    private Socket acceptOne() {
        try {
            return server.accept();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int available(Socket from) {
        try {
            return from.getInputStream().available();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void reply(Socket to, HelloReply reply) throws Exception {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE, 8);
        reply.encode(bytes);
        to.getOutputStream().write(bytes.toArray(JAVA_BYTE));
    }

    private Socket accepted(int version) throws Exception {
        Socket accepted = accept(version);
        reply(accepted, new HelloReply(version, HelloReply.Verdict.ACCEPTED, RawPeer.QPN, 16, 12, 5, false));
        return accepted;
    }

    private void prepareWrite(int wrId, int flags) {
        initiator.prepareWrite(wrId, pair.callerRegion.address(), LENGTH, pair.callerRegion.lkey(), 4096, KEY, flags);
    }

    /** Posts WRITEs. Only the last one may be signaled. */
    private void post(int count, boolean signaled) {
        for (int wrId = 0; wrId < count; wrId++) {
            prepareWrite(wrId, signaled && wrId == count - 1 ? SendFlag.SIGNALED : 0);
        }
        initiator.postSend();
    }

    private byte[] flags(Socket from, int count) throws Exception {
        InputStream in = from.getInputStream();
        byte[] flags = new byte[count];
        for (int i = 0; i < count; i++) {
            await(() -> queue.poll(one) == 0 && available(from) >= Wire.REQUEST_SIZE + LENGTH);
            flags[i] = in.readNBytes(Wire.REQUEST_SIZE + LENGTH)[1];
        }
        return flags;
    }

    private byte[] reply(WcStatus status, int sequence) {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.REPLY_SIZE, 8);
        int psn = (initiator.endpoint().psn() + sequence) & Wire.PSN_MASK;
        ReplyHeader.encode(bytes, 0, Wire.WRITE, status, psn, 0);
        return bytes.toArray(JAVA_BYTE);
    }

    private static void await(BooleanSupplier holds) {
        Deadlines.await("the queue pair", Deadlines.SHORT)
                .pollInterval(Duration.ofMillis(1))
                .until(holds::getAsBoolean);
    }

    private void assertNext(int wrId, WcStatus status) {
        await(() -> queue.poll(one) == 1);
        assertEquals(status, one[0].status());
        assertEquals(wrId, one[0].wrId());
    }

    @Test
    void shouldTakeReplyToLaterRequestForAllBefore() throws Exception {
        post(3, true);
        try (Socket peer = accepted(Wire.VERSION)) {
            assertEquals("[2, 2, 0]", Arrays.toString(flags(peer, 3)));
            byte[] reply = reply(WcStatus.SUCCESS, 2);
            peer.getOutputStream().write(reply, 0, 5);
            queue.poll(one);
            prepareWrite(3, 0);
            prepareWrite(4, SendFlag.SIGNALED);
            initiator.postSend();
            peer.getOutputStream().write(reply, 5, reply.length - 5);
            assertNext(2, WcStatus.SUCCESS);
            assertEquals("[2, 0]", Arrays.toString(flags(peer, 2)));
            peer.getOutputStream().write(reply(WcStatus.SUCCESS, 4));
            assertNext(4, WcStatus.SUCCESS);
        }
    }

    /** Its first bytes come while nothing else is outstanding, the others behind a request that has a reply. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void shouldFailTheUnansweredRequestThatIsRefused(int refused) throws Exception {
        post(3, false);
        try (Socket peer = accepted(Wire.VERSION)) {
            flags(peer, 3);
            byte[] reply = reply(WcStatus.REM_ACCESS_ERR, refused);
            peer.getOutputStream().write(reply, 0, 7);
            for (int poll = 0; poll < 1000; poll++) {
                assertEquals(0, queue.poll(one));
            }
            prepareWrite(3, SendFlag.SIGNALED);
            initiator.postSend();
            peer.getOutputStream().write(reply, 7, reply.length - 7);
            assertNext(refused, WcStatus.REM_ACCESS_ERR);
            for (int behind = refused + 1; behind <= 3; behind++) {
                assertNext(behind, WcStatus.WR_FLUSH_ERR);
            }
        }
    }

    @Test
    void shouldFailWhenPeerRepliesToUnansweredRequest() throws Exception {
        post(2, false);
        try (Socket peer = accepted(Wire.VERSION)) {
            flags(peer, 2);
            peer.getOutputStream().write(reply(WcStatus.SUCCESS, 0));
            assertNext(0, WcStatus.BAD_RESP_ERR);
            assertNext(1, WcStatus.WR_FLUSH_ERR);
        }
    }

    /** Nothing is expected of the peer but its end, and a thread that sleeps notices that. */
    @Test
    void shouldEndSleepWhenPeerGoesBehindUnansweredRequests() throws Exception {
        post(2, false);
        try (Socket peer = accepted(Wire.VERSION)) {
            flags(peer, 2);
            queue.requestNotification();
            assertEquals(0, queue.poll(one));
            assertTrue(!channel.await(TimeUnit.MILLISECONDS.toNanos(300)), "nothing has happened");
        }
        for (boolean ended = false; !ended; ended = queue.poll(one) == 1) {
            assertTrue(channel.await(Deadlines.SHORT.toNanos()), "the peer's end is not noticed");
        }
        assertEquals(WcStatus.RETRY_EXC_ERR, one[0].status());
    }

    @Test
    void shouldWantEveryReplyFromPeerOfTheOldestVersion() throws Exception {
        post(2, true);
        try (Socket peer = accept(Wire.VERSION)) {
            reply(peer, HelloReply.refusal(Wire.OLDEST_VERSION, HelloReply.Verdict.VERSION_UNKNOWN, 0));
            queue.poll(one);
        }
        try (Socket peer = accepted(Wire.OLDEST_VERSION)) {
            assertEquals("[0, 0]", Arrays.toString(flags(peer, 2)));
            peer.getOutputStream().write(reply(WcStatus.SUCCESS, 0));
            peer.getOutputStream().write(reply(WcStatus.SUCCESS, 1));
            assertNext(1, WcStatus.SUCCESS);
        }
    }
}
