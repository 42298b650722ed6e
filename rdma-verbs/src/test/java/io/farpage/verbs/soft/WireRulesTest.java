package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WcStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules of the wire protocol that two well-behaved queue pairs never try: a peer made of a plain socket does. */
@Tag("portable")
final class WireRulesTest {
    private static final int LENGTH = 4096;
    private static final byte OLD = 0x11;
    private static final byte NEW = 0x22;
    private static final int LAST_PSN = 0xFF_FFFF;

    /** A hello is given up later than a raw peer gives up waiting for bytes. */
    private final Loopback pair = new Loopback(new SoftOptions(
            SoftOptions.DEFAULT.listening(),
            SoftOptions.DEFAULT.responders(),
            new SoftOptions.Admission(128, 64, Duration.ofMinutes(1), 1024)));

    private final CompletionQueue queue = pair.server.createCompletionQueue(256);
    private final QueuePair queuePair = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
    private final MemorySegment memory = pair.arena.allocate(LENGTH, LENGTH).fill(OLD);
    private final MemoryRegion region = pair.serverDomain.registerMemory(memory, EnumSet.allOf(AccessFlag.class));

    @AfterEach
    void close() {
        queuePair.close();
        region.close();
        queue.close();
        pair.close();
    }

    private int port() {
        return queuePair.endpoint().lid();
    }

    private void listen(int peersPsn) {
        queuePair.modifyToReset();
        queuePair.modifyToInit();
        QpEndpoint own = queuePair.endpoint();
        queuePair.modifyToRtr(new QpEndpoint(RawPeer.QPN, own.lid(), own.gid(), peersPsn));
    }

    private static byte[] hello(int qpn, int targetQpn, int psn, int targetPsn) {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.HELLO_SIZE, 8);
        new Hello(Wire.VERSION, qpn, targetQpn, psn & Wire.PSN_MASK, targetPsn & Wire.PSN_MASK, 16, 0, 5, false, false)
                .encode(bytes);
        return bytes.toArray(JAVA_BYTE);
    }

    private byte[] hello(int psn) {
        return hello(RawPeer.QPN, queuePair.qpn(), psn, queuePair.endpoint().psn());
    }

    private byte[] request(int opcode, int psn, int length) {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.REQUEST_SIZE, 8);
        RequestHeader.encode(bytes, 0, opcode, 0, psn & Wire.PSN_MASK, region.address(), region.rkey(), length);
        return bytes.toArray(JAVA_BYTE);
    }

    private static HelloReply.Verdict verdict(RawPeer peer, byte[] hello) throws IOException {
        peer.send(hello);
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE, 8);
        bytes.copyFrom(MemorySegment.ofArray(peer.read(Wire.HELLO_REPLY_SIZE)));
        return HelloReply.decode(bytes).orElseThrow().verdict();
    }

    private static byte[] filled(int value) {
        byte[] bytes = new byte[LENGTH];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    /** The requests of one send are answered with one send, from the memory itself; a WRITE among them changes it. */
    @Test
    void shouldAnswerAReadWithTheBytesFromBeforeTheWriteThatFollowsIt() throws IOException {
        listen(RawPeer.PSN);
        ByteArrayOutputStream both = new ByteArrayOutputStream();
        both.write(request(Wire.READ, RawPeer.PSN, LENGTH));
        both.write(request(Wire.WRITE, RawPeer.PSN + 1, LENGTH));
        both.write(filled(NEW));
        both.write(request(Wire.READ, RawPeer.PSN + 2, LENGTH));
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(RawPeer.PSN)));
            peer.send(both.toByteArray());

            byte[] replies = peer.read(3 * Wire.REPLY_SIZE + 2 * LENGTH);

            assertTrue(
                    Arrays.equals(filled(OLD), 0, LENGTH, replies, Wire.REPLY_SIZE, Wire.REPLY_SIZE + LENGTH),
                    "the first READ has bytes of the WRITE behind it");
            int second = 3 * Wire.REPLY_SIZE + LENGTH;
            assertTrue(Arrays.equals(filled(NEW), 0, LENGTH, replies, second, second + LENGTH));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 5, 6, 7, 8, 128 + Wire.READ, 255})
    void shouldRefuseAnOpcodeThatIsNone(int opcode) throws IOException {
        assertRefused(request(opcode, RawPeer.PSN, 8));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 24, 27, 28, 31})
    void shouldRefuseARequestWhoseUnusedBytesAreNotZero(int at) throws IOException {
        byte[] request = request(Wire.READ, RawPeer.PSN, 8);
        request[at] = 1;
        assertRefused(request);
    }

    private void assertRefused(byte[] request) throws IOException {
        listen(RawPeer.PSN);
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(RawPeer.PSN)));
            peer.send(request);
            assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        }
    }

    @Test
    void shouldGoOnAtZeroBehindTheLastPacketNumber() throws IOException {
        listen(LAST_PSN - 1);
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(LAST_PSN - 1)));
            for (int i = 0; i < 4; i++) {
                peer.send(request(Wire.READ, LAST_PSN - 1 + i, 16));
                assertEquals(OLD, peer.read(Wire.REPLY_SIZE + 16)[Wire.REPLY_SIZE + 15], "request " + i);
            }
        }
    }

    @Test
    void shouldNumberItsOwnRequestsFromZeroBehindTheLastPacketNumber() {
        SendQueue sends = new SendQueue("a test", 8, 1, 0, Arena.ofAuto());
        sends.reset(LAST_PSN - 1);
        assertEquals(LAST_PSN - 1, sends.psn(0));
        assertEquals(LAST_PSN, sends.psn(1));
        assertEquals(0, sends.psn(2));
        assertEquals(1, sends.psn(3));
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0, 0",
        "-1, 0, 0, 0",
        "0, 1, 0, 0",
        "0, -1, 0, 0",
        "0, 0x800000, 0, 0",
        "0, 0, 1, 0",
        "0, 0, 0x800000, 0"
    })
    void shouldRefuseAHelloOfAnotherQueuePairOrFromBeforeItsReset(String qpn, String psn, String targetPsn, int none)
            throws IOException {
        listen(RawPeer.PSN);
        byte[] hello = hello(
                RawPeer.QPN + Integer.decode(qpn),
                queuePair.qpn(),
                RawPeer.PSN ^ (Integer.decode(psn) & Wire.PSN_MASK),
                queuePair.endpoint().psn() ^ Integer.decode(targetPsn));
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.NOT_PEER, verdict(peer, hello));
            assertEquals(none, peer.read(1).length, "the connection is closed");
        }
        assertEquals(QpState.RTR, queuePair.state());
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MIN_VALUE, Integer.MIN_VALUE + LENGTH, Wire.MAX_MESSAGE + 1})
    void shouldRefuseALengthThatIsNegativeOrTooLong(int length) throws IOException {
        for (int opcode : new int[] {Wire.READ, Wire.WRITE, Wire.SEND}) {
            MemorySegment bytes = Arena.ofAuto().allocate(Wire.REQUEST_SIZE, 8);
            bytes.copyFrom(MemorySegment.ofArray(request(opcode, 5, length)));
            assertFalse(new RequestHeader().decode(bytes, 0, 5, Wire.FLAG_SOLICITED));
        }
        listen(RawPeer.PSN);
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(RawPeer.PSN)));
            peer.send(request(Wire.READ, RawPeer.PSN, length));
            peer.halfClose();
            assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 0x10000, 0x800000})
    void shouldRefuseRequestWhenItsPacketNumberIsNotTheNext(int difference) throws IOException {
        listen(RawPeer.PSN);
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(RawPeer.PSN)));
            peer.send(request(Wire.READ, RawPeer.PSN ^ difference, 16));
            peer.halfClose();
            assertEquals(WcStatus.REM_INV_REQ_ERR.code(), peer.read(Wire.REPLY_SIZE)[1]);
        }
    }

    @Test
    void shouldAcceptTheLongestMessage() {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.REQUEST_SIZE, 8);
        bytes.copyFrom(MemorySegment.ofArray(request(Wire.READ, 5, Wire.MAX_MESSAGE)));
        assertTrue(new RequestHeader().decode(bytes, 0, 5, Wire.FLAG_SOLICITED));
    }

    @Test
    void shouldServeNothingOnceTheQueuePairIsInError() throws IOException {
        listen(RawPeer.PSN);
        try (RawPeer peer = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.ACCEPTED, verdict(peer, hello(RawPeer.PSN)));
            peer.send(request(Wire.READ, RawPeer.PSN, 16));
            assertEquals(Wire.REPLY_SIZE + 16, peer.read(Wire.REPLY_SIZE + 16).length);

            queuePair.modifyToErr();

            assertEquals(0, peer.read(1).length, "the connection is closed");
        }
        try (RawPeer late = new RawPeer(port())) {
            assertEquals(HelloReply.Verdict.NOT_READY, verdict(late, hello(RawPeer.PSN)));
        }
        assertEquals(OLD, memory.get(JAVA_BYTE, 0));
    }

    @Test
    void shouldCloseAConnectionThatSendsRequestsBeforeTheHelloReply() throws IOException {
        queuePair.modifyToInit();
        try (RawPeer peer = new RawPeer(port())) {
            ByteArrayOutputStream early = new ByteArrayOutputStream();
            early.write(hello(RawPeer.PSN));
            early.write(request(Wire.WRITE, RawPeer.PSN, LENGTH));
            early.write(filled(NEW));
            peer.send(early.toByteArray());

            assertEquals(0, peer.readToEnd().length);
        }
        assertEquals(OLD, memory.get(JAVA_BYTE, 0));
    }
}
