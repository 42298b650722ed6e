package io.farpage.verbs.soft;

import io.farpage.linux.NativeThread;
import io.farpage.verbs.Gid;
import io.farpage.verbs.GidRange;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** How a soft device listens and serves. */
public record SoftOptions(Listening listening, Responders responders, Admission admission, Encryption encryption) {
    /** Loopback only, a port of the system's choice, adaptive with 50 µs of spinning, not pinned. */
    public static final SoftOptions DEFAULT = new SoftOptions(
            new Listening(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), Optional.empty(), 0),
            new Responders(IdleStrategy.ADAPTIVE, Duration.ofNanos(50_000)),
            new Admission(1024, 256, Duration.ofSeconds(5), 1024));

    /** Encryption if the peer requires it. */
    public SoftOptions(Listening listening, Responders responders, Admission admission) {
        this(listening, responders, admission, Encryption.IF_ASKED);
    }

    /**
     * Whether connections are encrypted (TLS 1.3). A connection is encrypted if either end requires it.
     *
     * @param required whether this end requires it; each queue pair then needs a secret
     *     ({@link io.farpage.verbs.QueuePair#requireProof})
     * @param library libssl; the system's {@code libssl.so.3} if empty
     */
    public record Encryption(boolean required, Optional<Path> library) {
        /** Only connections whose peer requires it. */
        public static final Encryption IF_ASKED = new Encryption(false, Optional.empty());

        /** Every connection. */
        public static final Encryption REQUIRED = new Encryption(true, Optional.empty());
    }

    /**
     * The socket that peers connect to.
     *
     * @param address address and port; port 0 lets the system choose
     * @param advertised address that is published to peers (the device's GID); empty for that of {@code address}
     * @param socketBuffer bytes of each connection's send and receive buffer; 0 leaves the size to the system, which
     *     adapts it
     */
    public record Listening(InetSocketAddress address, Optional<InetAddress> advertised, int socketBuffer) {
        public Listening {
            if (address.isUnresolved()) {
                throw new IllegalArgumentException("listen address '" + address.getHostString() + "' does not resolve");
            }
            if (advertised.isEmpty() && address.getAddress().isAnyLocalAddress()) {
                throw new IllegalArgumentException("listen address " + address
                        + " names no interface that peers could connect to; set the advertised address");
            }
            requireRange("socket buffer", socketBuffer, 0, 1 << 30);
        }

        InetAddress published() {
            return advertised.orElse(address.getAddress());
        }
    }

    /**
     * The threads that serve peers.
     *
     * @param idle what a responder does while it has no request
     * @param spin how long {@link IdleStrategy#ADAPTIVE} spins before it sleeps
     * @param cpus CPUs that responders are pinned to, one after another; empty to leave them to the scheduler
     * @param realTimePriority of responders that do not spin, 1..99, where that is permitted; 0 for none. See {@link
     *     io.farpage.linux.ThreadScheduling}
     */
    public record Responders(IdleStrategy idle, Duration spin, List<Integer> cpus, int realTimePriority) {
        public Responders {
            cpus = List.copyOf(cpus);
            requireRange("spin nanoseconds", spin.toNanos(), 0, 1_000_000_000L);
            cpus.forEach(cpu -> requireRange("responder cpu", cpu, 0, NativeThread.MAX_CPUS - 1L));
            requireRange("real-time priority", realTimePriority, 0, 99);
        }

        /** Neither pinned nor with a real-time priority. */
        public Responders(IdleStrategy idle, Duration spin) {
            this(idle, spin, List.of(), 0);
        }
    }

    /**
     * How many peers are admitted.
     *
     * @param backlog connections that the system holds until they are accepted, at least 1
     * @param maxPending connections that may be in their handshake at once, 1..4096
     * @param handshake how long a handshake may last
     * @param maxQueuePairs queue pairs, and so responders, of one device, 1..65536
     * @param allowed addresses that connections are taken from; empty for all
     */
    public record Admission(
            int backlog, int maxPending, Duration handshake, int maxQueuePairs, List<GidRange> allowed) {
        /** Connections from every address. */
        public Admission(int backlog, int maxPending, Duration handshake, int maxQueuePairs) {
            this(backlog, maxPending, handshake, maxQueuePairs, List.of());
        }

        /** The same with connections from {@code newAllowed} only; empty for all. */
        public Admission withAllowed(List<GidRange> newAllowed) {
            return new Admission(backlog, maxPending, handshake, maxQueuePairs, newAllowed);
        }

        /** Whether a connection from {@code address} is taken. */
        boolean admits(InetAddress address) {
            return allowed.isEmpty() || allowed.stream().anyMatch(range -> range.contains(Gid.of(address)));
        }

        public Admission {
            allowed = List.copyOf(allowed);
            requireRange("backlog", backlog, 1, 65535);
            requireRange("max pending handshakes", maxPending, 1, 4096);
            requireRange("handshake milliseconds", handshake.toMillis(), 1, 3_600_000);
            requireRange("max queue pairs", maxQueuePairs, 1, 65536);
        }
    }

    private static void requireRange(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(name + " " + value + " is not within " + low + ".." + high);
        }
    }

    public SoftOptions withResponders(Responders newResponders) {
        return new SoftOptions(listening, newResponders, admission, encryption);
    }

    public SoftOptions withEncryption(Encryption newEncryption) {
        return new SoftOptions(listening, responders, admission, newEncryption);
    }
}
