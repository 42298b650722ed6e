package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Connections of strangers that know the right key and address, and have all numbers of the queue pair right but one,
 * or lack the proof. The requests that they send behind the HELLO, or instead of it, move no byte; the peer that proves
 * the secret is served before and after them.
 */
final class ForgedConnectionTest {
    private static final byte OLD = 0x5A;
    private static final byte INK = (byte) 0xA7;
    private static final int PAGE = 4096;
    private static final int PROOF = 32;
    private static final int CHALLENGE = Wire.HELLO_REPLY_SIZE + 2 * PROOF;
    private static final int[] NUMBERS = {8, 12, 16, 20};

    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final LinkSecret secret = new LinkSecret(noise(LinkSecret.SIZE));

    @Test
    void shouldMoveNoByteForConnectionsThatAreForged() throws IOException {
        forge(2_000);
    }

    @Test
    @Tag("soak")
    void shouldMoveNoByteForAHundredThousandConnectionsThatAreForged() throws IOException {
        forge(1_000 * Integer.getInteger("farpage.soak.percent", 100));
    }

    private void forge(int count) throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT);
                CompletionQueue queue = pair.server.createCompletionQueue(256);
                QueuePair home = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            pair.serverMemory.fill(OLD);
            MemorySegment expected = pair.arena.allocate(Loopback.SIZE).fill(OLD);
            listen(home);
            readRightly(pair, home);
            listen(home);
            for (int i = 0; i < count; i++) {
                attack(pair, home.endpoint());
                if (i % 100 == 0) {
                    assertEquals(-1, pair.serverMemory.mismatch(expected), () -> "bytes were written, seed " + seed);
                }
            }
            assertEquals(QpState.RTR, home.state(), "no stranger ends the queue pair");
            assertEquals(-1, pair.serverMemory.mismatch(expected), () -> "bytes were written, seed " + seed);
            readRightly(pair, home);
            System.out.printf("forged connections: %d, 0 bytes read or written, seed %d%n", count, seed);
        }
    }

    private void listen(QueuePair home) {
        home.modifyToReset();
        home.modifyToInit();
        home.requireProof(secret);
        home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
    }

    private byte[] noise(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] proving(QpEndpoint target) {
        byte[] hello = RawPeer.hello(target);
        hello[27] = 1;
        return hello;
    }

    /** A READ or a WRITE with the right key, address and PSN. */
    private byte[] request(Loopback pair) {
        int opcode = random.nextBoolean() ? Wire.READ : Wire.WRITE;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(RawPeer.request(opcode, 0, pair.serverMemory.address(), pair.serverRegion.rkey(), PAGE));
        if (opcode == Wire.WRITE) {
            byte[] ink = new byte[PAGE];
            Arrays.fill(ink, INK);
            bytes.writeBytes(ink);
        }
        return bytes.toByteArray();
    }

    private void attack(Loopback pair, QpEndpoint target) throws IOException {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        switch (random.nextInt(5)) {
            case 0 -> { // no HELLO at all
            }
            case 1 -> said.writeBytes(RawPeer.hello(target)); // no proof
            case 2 -> { // a wrong number, and the right proof where one is asked for
                attackWithProof(pair, target);
                return;
            }
            case 3 -> { // a proof that is noise
                said.writeBytes(proving(target));
                said.writeBytes(noise(2 * PROOF));
            }
            default -> { // a nonce, and the request instead of the proof
                said.writeBytes(proving(target));
                said.writeBytes(noise(PROOF));
            }
        }
        said.writeBytes(request(pair));
        try (RawPeer peer = new RawPeer(target.lid())) {
            sendAll(peer, said.toByteArray());
            requireNoData(peer.readToEnd());
        }
    }

    private void attackWithProof(Loopback pair, QpEndpoint target) throws IOException {
        byte[] hello = proving(target);
        hello[NUMBERS[random.nextInt(NUMBERS.length)] + 1 + random.nextInt(3)] ^= (byte) (1 << random.nextInt(8));
        byte[] nonce = noise(PROOF);
        try (RawPeer peer = new RawPeer(target.lid())) {
            peer.send(hello);
            peer.send(nonce);
            peer.read(Wire.HELLO_REPLY_SIZE);
            byte[] theirs = peer.read(PROOF);
            if (theirs.length == PROOF) {
                peer.read(PROOF);
                peer.send(ProofTest.proof(secret, "initiator", hello, nonce, theirs));
                sendAll(peer, request(pair));
            }
            requireNoData(peer.readToEnd());
        }
    }

    private static void sendAll(RawPeer peer, byte[] bytes) {
        try {
            peer.send(bytes);
            peer.halfClose();
        } catch (IOException e) {
            // A reset, since the responder closes what it has not read.
        }
    }

    private void requireNoData(byte[] answer) {
        int run = 0;
        for (byte b : answer) {
            run = b == OLD ? run + 1 : 0;
            assertNotEquals(16, run, () -> "bytes were read, seed " + seed);
        }
        if (answer.length > CHALLENGE + Wire.HELLO_REPLY_SIZE) {
            throw new AssertionError("an answer of " + answer.length + " bytes, seed " + seed);
        }
    }

    /** With the proof and all numbers right. */
    private void readRightly(Loopback pair, QueuePair home) throws IOException {
        byte[] hello = proving(home.endpoint());
        byte[] nonce = noise(PROOF);
        try (RawPeer peer = new RawPeer(home.endpoint().lid())) {
            peer.send(hello);
            peer.send(nonce);
            peer.read(Wire.HELLO_REPLY_SIZE);
            byte[] theirs = peer.read(PROOF);
            peer.read(PROOF);
            peer.send(ProofTest.proof(secret, "initiator", hello, nonce, theirs));
            peer.read(Wire.HELLO_REPLY_SIZE);
            peer.send(RawPeer.request(Wire.READ, 0, pair.serverMemory.address(), pair.serverRegion.rkey(), PAGE));
            byte[] reply = peer.read(Wire.REPLY_SIZE + PAGE);
            assertEquals(Wire.REPLY_SIZE + PAGE, reply.length, "a rightful READ");
            assertEquals(pair.serverMemory.get(JAVA_BYTE, 0), reply[Wire.REPLY_SIZE]);
        }
    }
}
