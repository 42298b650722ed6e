package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.EnumSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Requests that wait in a socket's buffers when a queue pair ends: none of them leaves the initiator, and none is
 * executed.
 */
final class QueuedWritesTest {
    private static final int PAGE = 4096;
    private static final int LARGE = 64 << 20;
    private static final int WRITES = 16;

    /** How a queue pair ends. */
    enum End {
        CLOSED,
        ERROR,
        RESET;

        void of(QueuePair queuePair) {
            switch (this) {
                case CLOSED -> queuePair.close();
                case ERROR -> queuePair.modifyToErr();
                case RESET -> queuePair.modifyToReset();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldExecuteNoQueuedWriteWhenTheRespondersQueuePairEnds(End end) throws IOException {
        try (Loopback pair = new Loopback(new SoftOptions(
                Loopback.SMALL_BUFFERS, SoftOptions.DEFAULT.responders(), SoftOptions.DEFAULT.admission()))) {
            CompletionQueue queue = pair.server.createCompletionQueue(256);
            QueuePair home = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
            MemorySegment large = pair.arena.allocate(LARGE, PAGE);
            MemorySegment pages = pair.arena.allocate(WRITES * PAGE, PAGE);
            MemoryRegion source = pair.serverDomain.registerMemory(large, EnumSet.of(AccessFlag.REMOTE_READ));
            MemoryRegion target = pair.serverDomain.registerMemory(
                    pages, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
            home.modifyToInit();
            home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
            home.modifyToRts();
            try (RawPeer peer = new RawPeer(home.endpoint().lid())) {
                assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(home.endpoint()));
                // The responder cannot send all of this answer, so that the WRITEs behind it wait in its socket.
                peer.send(RawPeer.request(Wire.READ, 0, source.address(), source.rkey(), LARGE));
                assertEquals(Wire.REPLY_SIZE, peer.read(Wire.REPLY_SIZE).length);
                byte[] page = new byte[PAGE];
                java.util.Arrays.fill(page, (byte) 0x5a);
                for (int i = 0; i < 2; i++) {
                    peer.send(RawPeer.request(
                            Wire.WRITE, 1 + i, target.address() + (long) i * PAGE, target.rkey(), PAGE));
                    peer.send(page);
                }
                end.of(home);
                peer.readToEnd();
                Deadlines.await("the responder's end", Deadlines.LONG)
                        .until(() -> Thread.getAllStackTraces().keySet().stream()
                                .noneMatch(thread ->
                                        thread.getName().equals("soft-responder-%06x".formatted(home.qpn()))));
            }
            assertEquals(-1, pages.mismatch(Arena.ofAuto().allocate(pages.byteSize())), "no byte was written");
            home.close();
            source.close();
            target.close();
            queue.close();
            pair.requireWorking();
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldSendNothingMoreOnceTheInitiatorsQueuePairHasEnded(End end) throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                ServerSocket server = new ServerSocket()) {
            server.setReceiveBufferSize(16384);
            server.bind(new java.net.InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            CompletionQueue queue = pair.caller.createCompletionQueue(256);
            QueuePair node = pair.callerDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
            node.modifyToInit();
            node.modifyToRtr(new QpEndpoint(
                    RawPeer.QPN, server.getLocalPort(), pair.from.endpoint().gid(), RawPeer.PSN));
            node.modifyToRts();
            try (Socket home = server.accept()) {
                home.setSoTimeout(10_000);
                InputStream in = home.getInputStream();
                for (int i = 0; i < 64; i++) {
                    node.prepareWrite(
                            i,
                            pair.callerMemory.address(),
                            Loopback.SIZE,
                            pair.callerRegion.lkey(),
                            PAGE,
                            7,
                            SendFlag.SIGNALED);
                }
                node.postSend();
                queue.poll(WorkCompletion.array(1));
                in.readNBytes(Wire.HELLO_SIZE);
                accept(home);
                long sent = settle(queue, in);
                assertTrue(sent > 0, "requests were sent");

                end.of(node);
                assertTrue(drain(in) <= sent, "more came than had arrived when the queue pair ended");
            }
            node.close();
            queue.close();
            pair.requireWorking();
        }
    }

    private static void accept(Socket home) throws IOException {
        MemorySegment reply = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE, 8);
        new HelloReply(Wire.VERSION, HelloReply.Verdict.ACCEPTED, RawPeer.QPN, 16, 12, 5, false).encode(reply);
        home.getOutputStream().write(reply.toArray(JAVA_BYTE));
    }

    /** Polls until nothing more arrives, though the initiator has more to send; returns how much has. */
    private static long settle(CompletionQueue queue, InputStream in) throws IOException {
        long arrived = -1;
        long since = System.nanoTime();
        while (System.nanoTime() - since < TimeUnit.MILLISECONDS.toNanos(300)) {
            queue.poll(WorkCompletion.array(1));
            if (in.available() != arrived) {
                arrived = in.available();
                since = System.nanoTime();
            }
        }
        return arrived;
    }

    private static long drain(InputStream in) {
        long total = 0;
        byte[] buffer = new byte[65536];
        try {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                total += read;
            }
        } catch (IOException e) {
            // A reset is the end that is wanted.
        }
        return total;
    }

    @Test
    void shouldRefuseMoreReadsAtOnceThanTheQueuePairAnswers() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            CompletionQueue queue = pair.server.createCompletionQueue(256);
            QueuePair home = pair.serverDomain.createQueuePair(
                    queue, queue, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(128, 16, 1, 0, 2)));
            home.modifyToInit();
            home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
            try (RawPeer peer = new RawPeer(home.endpoint().lid())) {
                assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(home.endpoint()));
                byte[] three = new byte[3 * Wire.REQUEST_SIZE];
                for (int i = 0; i < 3; i++) {
                    byte[] request =
                            RawPeer.request(Wire.READ, i, pair.serverRegion.address(), pair.serverRegion.rkey(), 8);
                    System.arraycopy(request, 0, three, i * Wire.REQUEST_SIZE, Wire.REQUEST_SIZE);
                }
                peer.send(three);
                byte[] answers = peer.read(2 * (Wire.REPLY_SIZE + 8) + Wire.REPLY_SIZE);
                assertEquals(WcStatus.SUCCESS.code(), answers[1]);
                assertEquals(WcStatus.SUCCESS.code(), answers[Wire.REPLY_SIZE + 8 + 1]);
                assertEquals(WcStatus.REM_INV_REQ_ERR.code(), answers[2 * (Wire.REPLY_SIZE + 8) + 1]);
            }
            home.close();
            queue.close();
        }
    }
}
