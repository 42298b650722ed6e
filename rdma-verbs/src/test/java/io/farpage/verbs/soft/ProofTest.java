package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/**
 * The two sides of a connection prove that they hold the link's secret. The peer is a plain socket with its own
 * implementation of the exchange.
 */
final class ProofTest {
    private static final LinkSecret SECRET = secret(1);
    private static final LinkSecret OTHER = secret(2);
    private static final byte[] NONCE = new byte[32];
    private static final int ACCEPTED = 0;
    private static final int PROVE = 7;
    private static final int NOT_PROVEN = 8;
    private static final int PAGE = 4096;
    /** About two seconds of retries. */
    private static final QpOptions PATIENT = retrying(15);
    /** About half a second of retries, for requests that must fail. */
    private static final QpOptions IMPATIENT = retrying(13);

    private static QpOptions retrying(int timeout) {
        return new QpOptions(
                QpOptions.DEFAULT.sizes(),
                new QpOptions.Retries(timeout, 3, 7, 12),
                QpOptions.DEFAULT.path(),
                QpOptions.DEFAULT.access());
    }

    private static LinkSecret secret(int fill) {
        byte[] bytes = new byte[LinkSecret.SIZE];
        Arrays.fill(bytes, (byte) fill);
        return new LinkSecret(bytes);
    }

    /** The proof as docs/wire-protocol.md defines it. */
    static byte[] proof(LinkSecret secret, String side, byte[] hello, byte[] callersNonce, byte[] respondersNonce) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.bytes(), "HmacSHA256"));
            mac.update(("farpage soft 1 " + side).getBytes(StandardCharsets.US_ASCII));
            mac.update(hello);
            mac.update(callersNonce);
            mac.update(respondersNonce);
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A queue pair that requires a proof of a raw peer. */
    private static QueuePair listening(Loopback pair, CompletionQueue queue) {
        QueuePair home = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
        home.modifyToInit();
        home.requireProof(SECRET);
        home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
        return home;
    }

    private static byte[] provingHello(QpEndpoint target) {
        byte[] hello = RawPeer.hello(target);
        hello[27] = 1;
        return hello;
    }

    private static int verdict(byte[] reply) {
        return (reply[6] & 0xff) << 8 | (reply[7] & 0xff);
    }

    /** Answers a challenge with what {@code answer} makes of it; returns the verdict on the answer. */
    private static int answer(RawPeer peer, QpEndpoint target, Answer answer) throws IOException {
        byte[] hello = provingHello(target);
        peer.send(hello);
        peer.send(NONCE);
        assertEquals(PROVE, verdict(peer.read(16)));
        byte[] nonce = peer.read(32);
        byte[] theirs = peer.read(32);
        assertArrayEquals(proof(SECRET, "responder", hello, NONCE, nonce), theirs, "the responder's proof");
        peer.send(answer.to(hello, nonce, theirs));
        return verdict(peer.read(16));
    }

    private interface Answer {
        byte[] to(byte[] hello, byte[] nonce, byte[] theirs);
    }

    @Test
    void shouldServeAPeerThatProvesTheSecret() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = listening(pair, queue);
                RawPeer peer = new RawPeer(home.endpoint().lid())) {
            pair.serverMemory.fill((byte) 0x5a);
            int verdict = answer(
                    peer, home.endpoint(), (hello, nonce, theirs) -> proof(SECRET, "initiator", hello, NONCE, nonce));
            assertEquals(ACCEPTED, verdict);
            peer.send(RawPeer.request(Wire.READ, 0, pair.serverMemory.address(), pair.serverRegion.rkey(), PAGE));
            byte[] reply = peer.read(Wire.REPLY_SIZE + PAGE);
            assertEquals(0, reply[1], "status");
            assertEquals(0x5a, reply[Wire.REPLY_SIZE + PAGE - 1]);
        }
    }

    @Test
    void shouldRefuseAProofOfAnotherSecret() throws IOException {
        requireRefused((hello, nonce, theirs) -> proof(OTHER, "initiator", hello, NONCE, nonce));
    }

    @Test
    void shouldRefuseItsOwnProofReturned() throws IOException {
        requireRefused((hello, nonce, theirs) -> theirs);
    }

    @Test
    void shouldRefuseAProofOverAnotherHello() throws IOException {
        requireRefused((hello, nonce, theirs) -> {
            byte[] altered = hello.clone();
            altered[24]++;
            return proof(SECRET, "initiator", altered, NONCE, nonce);
        });
    }

    private static void requireRefused(Answer answer) throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = listening(pair, queue);
                RawPeer peer = new RawPeer(home.endpoint().lid())) {
            assertEquals(NOT_PROVEN, answer(peer, home.endpoint(), answer));
            assertEquals(0, peer.readToEnd().length);
            pair.requireWorking();
        }
    }

    @Test
    void shouldRefuseARecordedProofOnAnotherConnection() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = listening(pair, queue)) {
            byte[][] recorded = new byte[1][];
            try (RawPeer peer = new RawPeer(home.endpoint().lid())) {
                assertEquals(ACCEPTED, answer(peer, home.endpoint(), (hello, nonce, theirs) -> {
                    recorded[0] = proof(SECRET, "initiator", hello, NONCE, nonce);
                    return recorded[0];
                }));
            }
            try (RawPeer replaying = new RawPeer(home.endpoint().lid())) {
                assertEquals(NOT_PROVEN, answer(replaying, home.endpoint(), (hello, nonce, theirs) -> recorded[0]));
            }
        }
    }

    @Test
    void shouldRefuseAPeerThatOffersNoProof() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = listening(pair, queue);
                RawPeer peer = new RawPeer(home.endpoint().lid())) {
            peer.send(RawPeer.hello(home.endpoint()));
            assertEquals(NOT_PROVEN, verdict(peer.read(16)));
            assertEquals(0, peer.readToEnd().length);
        }
    }

    @Test
    void shouldRefuseAProofThatTheQueuePairDoesNotRequire() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            home.modifyToInit();
            home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
            try (RawPeer peer = new RawPeer(home.endpoint().lid())) {
                peer.send(provingHello(home.endpoint()));
                peer.send(NONCE);
                assertEquals(NOT_PROVEN, verdict(peer.read(16)));
            }
        }
    }

    @Test
    void shouldReadWhenBothSidesHoldTheSecret() {
        assertEquals(WcStatus.SUCCESS, readBetween(SECRET, SECRET));
    }

    @Test
    void shouldNotReadWhenTheSecretsDiffer() {
        assertEquals(WcStatus.RETRY_EXC_ERR, readBetween(SECRET, OTHER));
    }

    private static WcStatus readBetween(LinkSecret mine, LinkSecret theirs) {
        QpOptions options = mine.equals(theirs) ? PATIENT : IMPATIENT;
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT, options)) {
            pair.from.modifyToReset();
            pair.to.modifyToReset();
            pair.from.requireProof(mine);
            pair.to.requireProof(theirs);
            pair.connect();
            pair.post(1, PAGE);
            return pair.spin().status();
        }
    }

    @Test
    void shouldDiscardTheSecretInReset() {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT, PATIENT)) {
            pair.from.modifyToReset();
            pair.from.requireProof(SECRET);
            pair.from.modifyToReset();
            pair.to.modifyToReset();
            pair.connect();
            pair.requireWorking();
        }
    }

    @Test
    void shouldRefuseASecretOnceThePeerIsKnown() {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            VerbsException refused = assertThrows(VerbsException.class, () -> pair.from.requireProof(SECRET));
            assertEquals(
                    "require a proof on " + pair.from
                            + ": the state is RTS; it is required in RESET or INIT, before the peer is known",
                    refused.getMessage());
        }
    }

    @Test
    void shouldSendNoRequestToAResponderThatDoesNotProveTheSecret() throws IOException {
        requireNothingSentTo((hello, callersNonce) -> reply(ACCEPTED, RawPeer.QPN));
    }

    @Test
    void shouldSendNoRequestToAResponderThatProvesAnotherSecret() throws IOException {
        byte[] nonce = new byte[32];
        requireNothingSentTo((hello, callersNonce) -> {
            byte[] all = Arrays.copyOf(reply(PROVE, RawPeer.QPN), 80);
            System.arraycopy(nonce, 0, all, 16, 32);
            System.arraycopy(proof(OTHER, "responder", hello, callersNonce, nonce), 0, all, 48, 32);
            return all;
        });
    }

    private interface Responding {
        byte[] to(byte[] hello, byte[] callersNonce);
    }

    private static byte[] reply(int verdict, int qpn) {
        return new byte[] {
            'F',
            'P',
            'V',
            '1',
            0,
            1,
            0,
            (byte) verdict,
            0,
            (byte) (qpn >> 16),
            (byte) (qpn >> 8),
            (byte) qpn,
            16,
            12,
            5,
            0
        };
    }

    /** The initiator hangs up on the impostor, tries again with another nonce, and its READ ends with RETRY_EXC_ERR. */
    private static void requireNothingSentTo(Responding impostor) throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                CompletionQueue queue = pair.caller.createCompletionQueue(256);
                QueuePair node = pair.callerDomain.createQueuePair(queue, queue, IMPATIENT)) {
            node.modifyToInit();
            node.requireProof(SECRET);
            node.modifyToRtr(new QpEndpoint(
                    RawPeer.QPN, server.getLocalPort(), pair.from.endpoint().gid(), RawPeer.PSN));
            node.modifyToRts();
            node.prepareRead(
                    1, pair.callerMemory.address(), PAGE, pair.callerRegion.lkey(), PAGE, 7, SendFlag.SIGNALED);
            node.postSend();
            WorkCompletion[] one = WorkCompletion.array(1);
            byte[] before = NONCE;
            int tries = 0;
            server.setSoTimeout(100);
            while (one[0].wrId() == 0 && queue.poll(one) == 0) {
                try (Socket caller = server.accept()) {
                    caller.setSoTimeout(20);
                    DataInputStream in = new DataInputStream(caller.getInputStream());
                    byte[] hello = readWhilePolled(queue, one, in, 32);
                    byte[] nonce = readWhilePolled(queue, one, in, 32);
                    if (one[0].wrId() == 1) {
                        break;
                    }
                    assertNotEquals(Arrays.toString(before), Arrays.toString(nonce), "a nonce was used twice");
                    before = nonce;
                    tries++;
                    caller.getOutputStream().write(impostor.to(hello, nonce));
                    assertEquals(0, readWhilePolled(queue, one, in, 1).length, "bytes after the impostor's answer");
                } catch (java.net.SocketTimeoutException e) {
                    // The initiator pauses between two tries.
                }
            }
            assertEquals(WcStatus.RETRY_EXC_ERR, one[0].status());
            assertNotEquals(0, tries);
        }
    }

    /**
     * The initiator takes its steps when its completion queue is polled. Fewer bytes than asked for at the end of the
     * connection.
     */
    private static byte[] readWhilePolled(CompletionQueue queue, WorkCompletion[] one, DataInputStream in, int size)
            throws IOException {
        byte[] bytes = new byte[size];
        int read = 0;
        while (read < size) {
            if (queue.poll(one) == 1) {
                return new byte[0];
            }
            try {
                int more = in.read(bytes, read, size - read);
                if (more < 0) {
                    return Arrays.copyOf(bytes, read);
                }
                read += more;
            } catch (java.net.SocketTimeoutException e) {
                // Polled again.
            } catch (java.net.SocketException e) {
                return Arrays.copyOf(bytes, read); // a reset
            }
        }
        return bytes;
    }
}
