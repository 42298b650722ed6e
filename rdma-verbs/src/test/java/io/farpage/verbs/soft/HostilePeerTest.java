package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WorkCompletion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whatever a peer sends: the device goes on serving others, shows nothing outside a region, changes nothing there,
 * leaks nothing.
 */
@Tag("portable")
final class HostilePeerTest {
    private static final int ATTACKS = 3_300;
    private static final int PAGE = 4096;
    private static final byte SECRET = 0x77;
    private static final byte SHARED = 0x11;
    private static final SoftOptions OPTIONS = new SoftOptions(
            SoftOptions.DEFAULT.listening(),
            SoftOptions.DEFAULT.responders(),
            new SoftOptions.Admission(128, 8, Duration.ofMillis(400), 64));

    /** A queue pair that takes a raw peer for its own, and a page for it amid pages that are none of its business. */
    private static final class Victim implements AutoCloseable {
        final CompletionQueue queue;
        final QueuePair queuePair;
        final MemorySegment memory;
        final MemoryRegion region;

        Victim(Loopback pair) {
            this.queue = pair.server.createCompletionQueue(256);
            this.queuePair = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
            this.memory = pair.arena.allocate(3 * PAGE, PAGE);
            memory.fill(SECRET);
            memory.asSlice(PAGE, PAGE).fill(SHARED);
            this.region = pair.serverDomain.registerMemory(
                    memory.asSlice(PAGE, PAGE),
                    EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
        }

        void listen() {
            queuePair.modifyToReset();
            queuePair.modifyToInit();
            queuePair.modifyToRtr(RawPeer.endpoint(queuePair.endpoint()));
        }

        void requireUntouchedOutside() {
            for (int i = 0; i < PAGE; i++) {
                assertEquals(SECRET, memory.get(JAVA_BYTE, i));
                assertEquals(SECRET, memory.get(JAVA_BYTE, 2 * PAGE + i));
            }
        }

        @Override
        public void close() {
            queuePair.close();
            region.close();
            queue.close();
        }
    }

    @Test
    void shouldSurviveMutatedRequests() throws IOException {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        Random random = new Random(seed);
        try (Loopback pair = new Loopback(OPTIONS)) {
            pair.requireWorking();
            try (Victim victim = new Victim(pair)) {
                long descriptors = ResourceLeakTest.descriptors();
                long threads = ResourceLeakTest.threads();
                for (int attack = 0; attack < ATTACKS; attack++) {
                    victim.listen();
                    try (RawPeer peer = new RawPeer(victim.queuePair.endpoint().lid())) {
                        attack(peer, victim, random);
                        peer.halfClose();
                        requireNoSecret(peer.readToEnd(), seed);
                    } catch (IOException e) {
                        // Closed on us in the middle of what we sent: as it should be.
                    }
                }
                victim.requireUntouchedOutside();
                pair.requireWorking();
                Deadlines.await("threads and descriptors of connections that are gone", Deadlines.LONG)
                        .untilAsserted(() -> {
                            assertTrue(ResourceLeakTest.threads() <= threads, "threads of connections that are gone");
                            assertTrue(
                                    ResourceLeakTest.descriptors() <= descriptors,
                                    "descriptors of connections that are gone");
                        });
            }
        }
    }

    private static void attack(RawPeer peer, Victim victim, Random random) throws IOException {
        byte[] hello = RawPeer.hello(victim.queuePair.endpoint());
        int kind = random.nextInt(6);
        if (kind == 0) {
            byte[] noise = new byte[random.nextInt(1, 4096)];
            random.nextBytes(noise);
            peer.send(noise);
            return;
        }
        if (kind == 1) {
            mutate(hello, random);
            peer.send(hello);
            return;
        }
        assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(victim.queuePair.endpoint()));
        for (int i = 0; i < random.nextInt(1, 20); i++) {
            long offset = switch (random.nextInt(4)) {
                case 0 -> random.nextLong();
                case 1 -> random.nextInt(-PAGE, 2 * PAGE);
                default -> random.nextInt(PAGE);
            };
            int length = random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(2 * PAGE);
            byte[] request = RawPeer.request(
                    random.nextInt(1, 8), i, victim.region.address() + offset, victim.region.rkey(), length);
            if (kind == 2) {
                mutate(request, random);
            }
            peer.send(request);
            if (random.nextBoolean()) {
                byte[] payload = new byte[random.nextInt(3 * PAGE)];
                random.nextBytes(payload);
                peer.send(payload);
            }
        }
    }

    private static void mutate(byte[] bytes, Random random) {
        for (int i = 0; i < random.nextInt(1, 6); i++) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
        }
    }

    private static void requireNoSecret(byte[] bytes, long seed) {
        int run = 0;
        for (byte b : bytes) {
            run = b == SECRET ? run + 1 : 0;
            assertTrue(run < 16, "bytes from outside the region were sent; seed " + seed);
        }
    }

    @Test
    void shouldDropSilentConnectionsInTimeAndServeOthersMeanwhile() throws IOException {
        try (Loopback pair = new Loopback(OPTIONS)) {
            List<RawPeer> silent = new ArrayList<>();
            try {
                for (int i = 0; i < 50; i++) {
                    silent.add(new RawPeer(pair.server.queryPort().lid()));
                    silent.getLast().send(new byte[] {0x46});
                }
                pair.from.modifyToReset();
                pair.to.modifyToReset();
                pair.connect();
                pair.requireWorking();
                for (RawPeer peer : silent) {
                    assertEquals(0, peer.readToEnd().length);
                }
            } finally {
                for (RawPeer peer : silent) {
                    peer.close();
                }
            }
        }
    }

    @Test
    void shouldRefuseASecondConnectionForOneQueuePair() throws IOException {
        try (Loopback pair = new Loopback(OPTIONS);
                Victim victim = new Victim(pair)) {
            victim.listen();
            int port = victim.queuePair.endpoint().lid();
            try (RawPeer first = new RawPeer(port);
                    RawPeer second = new RawPeer(port)) {
                assertEquals(HelloReply.Verdict.ACCEPTED, first.greet(victim.queuePair.endpoint()));
                assertEquals(HelloReply.Verdict.BUSY, second.greet(victim.queuePair.endpoint()));
                first.send(RawPeer.request(Wire.READ, 0, victim.region.address(), victim.region.rkey(), 16));
                byte[] reply = first.read(Wire.REPLY_SIZE + 16);
                assertEquals(SHARED, reply[Wire.REPLY_SIZE + 15]);
            }
        }
    }

    @Test
    void shouldDeregisterMemoryThoughAPeerThatAskedForItDoesNotRead() throws IOException {
        try (Loopback pair = new Loopback(
                        new SoftOptions(Loopback.SMALL_BUFFERS, OPTIONS.responders(), OPTIONS.admission()));
                Victim victim = new Victim(pair)) {
            victim.listen();
            MemorySegment large = pair.arena.allocate(64L << 20, PAGE);
            MemoryRegion region = pair.serverDomain.registerMemory(large, EnumSet.of(AccessFlag.REMOTE_READ));
            try (RawPeer peer = new RawPeer(victim.queuePair.endpoint().lid())) {
                assertEquals(HelloReply.Verdict.ACCEPTED, peer.greet(victim.queuePair.endpoint()));
                peer.send(RawPeer.request(Wire.READ, 0, region.address(), region.rkey(), 64 << 20));
                // The responder is in the middle of it now, and stays there.
                assertEquals(Wire.REPLY_SIZE, peer.read(Wire.REPLY_SIZE).length);
                Deadlines.Wait end = Deadlines.begin("the deregistration", Deadlines.SHORT);
                region.close();
                end.check();
                assertTrue(peer.readToEnd().length < 64 << 20);
            }
            assertEquals(0, victim.queue.poll(WorkCompletion.array(1)));
            pair.requireWorking();
        }
    }

    @Test
    void shouldNotAcceptWhatIsNotAHello() throws IOException {
        try (Loopback pair = new Loopback(OPTIONS);
                RawPeer browser = new RawPeer(pair.server.queryPort().lid())) {
            browser.send(
                    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            assertFalse(browser.readToEnd().length > 0);
        }
    }
}
