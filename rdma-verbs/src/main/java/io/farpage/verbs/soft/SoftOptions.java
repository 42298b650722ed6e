package io.farpage.verbs.soft;

import io.farpage.linux.NativeThread;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * How a soft device listens and serves.
 *
 * @param listen address and port that peers connect to; port 0 lets the system choose
 * @param advertised address that peers are told (the device's GID); empty for that of {@code listen}
 * @param idle what responders do while they have no request
 * @param spin how long {@link IdleStrategy#ADAPTIVE} spins before it sleeps
 * @param responderCpus CPUs that responders are pinned to, in turn; empty to leave them to the scheduler
 * @param backlog connections that the system holds until they are accepted, at least 1
 * @param socketBuffer bytes of each socket's send and receive buffer; 0 leaves it to the system, which tunes it by itself
 * @param maxPending connections that may be in their handshake at once, 1..4096
 * @param handshake how long a handshake may take
 * @param maxQueuePairs queue pairs, and so responders, of one device, 1..65536
 * @param realTimePriority of responders that do not spin, 1..99; 0 for none. See {@link io.farpage.linux.ThreadScheduling}
 */
public record SoftOptions(
        InetSocketAddress listen,
        Optional<InetAddress> advertised,
        IdleStrategy idle,
        Duration spin,
        List<Integer> responderCpus,
        int backlog,
        int socketBuffer,
        int maxPending,
        Duration handshake,
        int maxQueuePairs,
        int realTimePriority) {

    /** Loopback only, a port of the system's choice, adaptive with 50 µs of spinning, not pinned. */
    public static final SoftOptions DEFAULT = new SoftOptions(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            Optional.empty(),
            IdleStrategy.ADAPTIVE,
            Duration.ofNanos(50_000),
            List.of(),
            128,
            0,
            64,
            Duration.ofSeconds(5),
            1024,
            0);

    public SoftOptions {
        responderCpus = List.copyOf(responderCpus);
        if (listen.isUnresolved()) {
            throw new IllegalArgumentException("listen address '" + listen.getHostString() + "' does not resolve");
        }
        if (advertised.isEmpty() && listen.getAddress().isAnyLocalAddress()) {
            throw new IllegalArgumentException("listen address " + listen
                    + " names no interface that peers could connect to; set the advertised address");
        }
        requireRange("spin nanoseconds", spin.toNanos(), 0, 1_000_000_000L);
        responderCpus.forEach(cpu -> requireRange("responder cpu", cpu, 0, NativeThread.MAX_CPUS - 1L));
        requireRange("backlog", backlog, 1, 65535);
        requireRange("socket buffer", socketBuffer, 0, 1 << 30);
        requireRange("max pending handshakes", maxPending, 1, 4096);
        requireRange("handshake milliseconds", handshake.toMillis(), 1, 3_600_000);
        requireRange("max queue pairs", maxQueuePairs, 1, 65536);
        requireRange("real-time priority", realTimePriority, 0, 99);
    }

    private static void requireRange(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(name + " " + value + " is not within " + low + ".." + high);
        }
    }

    /** The address that peers are told. */
    public InetAddress advertisedAddress() {
        return advertised.orElse(listen.getAddress());
    }

    public SoftOptions withListen(InetSocketAddress newListen, Optional<InetAddress> newAdvertised) {
        return new SoftOptions(
                newListen,
                newAdvertised,
                idle,
                spin,
                responderCpus,
                backlog,
                socketBuffer,
                maxPending,
                handshake,
                maxQueuePairs,
                realTimePriority);
    }

    public SoftOptions withIdle(IdleStrategy newIdle, Duration newSpin) {
        return new SoftOptions(
                listen,
                advertised,
                newIdle,
                newSpin,
                responderCpus,
                backlog,
                socketBuffer,
                maxPending,
                handshake,
                maxQueuePairs,
                realTimePriority);
    }

    public SoftOptions withResponderCpus(List<Integer> newResponderCpus) {
        return new SoftOptions(
                listen,
                advertised,
                idle,
                spin,
                newResponderCpus,
                backlog,
                socketBuffer,
                maxPending,
                handshake,
                maxQueuePairs,
                realTimePriority);
    }

    public SoftOptions withSocketBuffer(int newSocketBuffer) {
        return new SoftOptions(
                listen,
                advertised,
                idle,
                spin,
                responderCpus,
                backlog,
                newSocketBuffer,
                maxPending,
                handshake,
                maxQueuePairs,
                realTimePriority);
    }

    public SoftOptions withAdmission(int newBacklog, int newMaxPending, Duration newHandshake, int newMaxQueuePairs) {
        return new SoftOptions(
                listen,
                advertised,
                idle,
                spin,
                responderCpus,
                newBacklog,
                socketBuffer,
                newMaxPending,
                newHandshake,
                newMaxQueuePairs,
                realTimePriority);
    }

    /** Responders that do not spin take a real-time priority, 1 to 99, where that is permitted; 0 for none. */
    public SoftOptions withRealTimePriority(int newRealTimePriority) {
        return new SoftOptions(
                listen,
                advertised,
                idle,
                spin,
                responderCpus,
                backlog,
                socketBuffer,
                maxPending,
                handshake,
                maxQueuePairs,
                newRealTimePriority);
    }
}
