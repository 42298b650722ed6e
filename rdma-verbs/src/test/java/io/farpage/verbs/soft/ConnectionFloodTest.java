package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Strangers that open connections and say nothing, beside a peer that wants to link. */
final class ConnectionFloodTest {
    private static final int FLOOD = 10_000;
    /** Sockets of the flood that are open at once. */
    private static final int HELD = 500;

    private final ConcurrentLinkedQueue<RefusedConnection> refused = new ConcurrentLinkedQueue<>();

    private Device open(SoftOptions.Admission admission) {
        SoftProvider provider = new SoftProvider(
                new SoftOptions(SoftOptions.DEFAULT.listening(), SoftOptions.DEFAULT.responders(), admission));
        provider.onRefusal(refused::add);
        return provider.open(SoftProvider.DEVICE);
    }

    private static InetAddress stranger() throws IOException {
        return InetAddress.getByName("127.0.0.2");
    }

    /** A queue pair that a raw peer can connect to. */
    private record Target(ProtectionDomain domain, CompletionQueue queue, QueuePair queuePair)
            implements AutoCloseable {
        static Target on(Device device) {
            ProtectionDomain domain = device.allocateProtectionDomain();
            CompletionQueue queue = device.createCompletionQueue(256);
            QueuePair queuePair = domain.createQueuePair(queue, queue, QpOptions.DEFAULT);
            queuePair.modifyToInit();
            queuePair.modifyToRtr(RawPeer.endpoint(queuePair.endpoint()));
            return new Target(domain, queue, queuePair);
        }

        @Override
        public void close() {
            queuePair.close();
            queue.close();
            domain.close();
        }
    }

    @Test
    void shouldEndConnectionsOfTheMostConnectedAddressWhenTooMany() throws Exception {
        try (Device device = open(new SoftOptions.Admission(128, 8, Duration.ofSeconds(30), 64));
                Target target = Target.on(device);
                RawPeer peer = new RawPeer(target.queuePair().endpoint().lid())) {
            List<RawPeer> strangers = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                strangers.add(new RawPeer(target.queuePair().endpoint().lid(), stranger()));
            }
            Deadlines.await("the refusals", Deadlines.LONG).until(() -> refused.size() >= 93);
            assertTrue(
                    refused.stream().allMatch(one -> one.from().getHostAddress().equals("127.0.0.2")),
                    refused.toString());
            assertEquals(
                    HelloReply.Verdict.ACCEPTED, peer.greet(target.queuePair().endpoint()));
            for (RawPeer stranger : strangers) {
                stranger.close();
            }
        }
    }

    @Test
    void shouldServeAPeerWhileAStrangerOpensTenThousandConnections() throws Exception {
        AtomicInteger opened = new AtomicInteger();
        AtomicBoolean stop = new AtomicBoolean();
        try (Device device = open(SoftOptions.DEFAULT.admission())) {
            int port;
            try (Target first = Target.on(device)) {
                port = first.queuePair().endpoint().lid();
            }
            Thread flood = Thread.ofPlatform().start(() -> flood(port, opened, stop));
            int served = 0;
            try {
                Deadlines.await("a thousand connections", Deadlines.LONG).until(() -> opened.get() > 1_000);
                while (served < 50 || (opened.get() < FLOOD && flood.isAlive())) {
                    try (Target target = Target.on(device)) {
                        Deadlines.Wait handshake = Deadlines.begin("a handshake", Duration.ofSeconds(3));
                        try (RawPeer peer = new RawPeer(port)) {
                            assertEquals(
                                    HelloReply.Verdict.ACCEPTED,
                                    peer.greet(target.queuePair().endpoint()));
                        }
                        handshake.check();
                        served++;
                    }
                }
            } finally {
                stop.set(true);
                flood.join();
            }
            assertTrue(opened.get() >= FLOOD, opened + " connections of the stranger");
            assertTrue(refused.stream()
                    .noneMatch(one -> one.from().isLoopbackAddress()
                            && one.from().getHostAddress().equals("127.0.0.1")));
        }
    }

    private static void flood(int port, AtomicInteger opened, AtomicBoolean stop) {
        Deque<SocketChannel> held = new ArrayDeque<>();
        try {
            InetSocketAddress from = new InetSocketAddress(stranger(), 0);
            InetSocketAddress to = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
            while (!stop.get() && opened.get() < 3 * FLOOD) {
                SocketChannel channel = SocketChannel.open();
                channel.bind(from);
                channel.connect(to);
                held.add(channel);
                opened.incrementAndGet();
                if (held.size() > HELD) {
                    held.remove().close();
                }
            }
        } catch (IOException e) {
            // The ports of the address are used up: the flood has been as large as it can be.
            stop.set(true);
        } finally {
            for (SocketChannel channel : held) {
                try {
                    channel.close();
                } catch (IOException e) {
                    stop.set(true);
                }
            }
        }
    }
}
