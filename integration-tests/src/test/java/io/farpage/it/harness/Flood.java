package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A client that abuses one port with plain sockets, in several ways at once, until it is closed. TCP connections come
 * from 127.0.0.2, so that they can be told from those of the test. Rates are bounded: the test is about what the port
 * does, and not about which side has more of the processors.
 */
public final class Flood implements AutoCloseable {
    private static final String STRANGER = "127.0.0.2";
    private static final long JOIN_SECONDS = 20;
    /** How long one connection is written to, and the pause when the server does not read. */
    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

    /** A way to abuse a port. */
    public enum Way {
        /** Connections that say what a client would say, a byte at a time. */
        SLOW(200),
        /** Connections that say nothing. */
        IDLE(200),
        /** Connections that begin with noise. */
        GARBAGE(20),
        /** Connections that say more than is allowed, without end. */
        OVERSIZED(50),
        /** Connections that end at once. */
        CHURN(3);

        private final long pauseMillis;

        Way(long pauseMillis) {
            this.pauseMillis = pauseMillis;
        }
    }

    /**
     * A port, and what is said to it.
     *
     * @param connector makes a connection
     * @param beginning of what a client would say, as Latin-1
     * @param endless what is repeated without end after the beginning
     * @param held connections that {@link Way#SLOW} and {@link Way#IDLE} keep each
     */
    public record Target(Connector connector, String beginning, String endless, int held) {}

    /** Makes a connection that does not block. */
    @FunctionalInterface
    public interface Connector {
        /** Connects. */
        SocketChannel connect() throws IOException;
    }

    /** What one way has done. */
    private static final class Counters {
        private final AtomicLong opened = new AtomicLong();
        private final AtomicLong ended = new AtomicLong();
    }

    private final Target target;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();
    private final List<Counters> counters = new ArrayList<>();
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

    private Flood(Target target) {
        this.target = target;
    }

    /** Begins to abuse a port. */
    public static Flood begin(Target target, List<Way> ways) {
        Flood flood = new Flood(target);
        for (Way way : ways) {
            Counters own = new Counters();
            flood.counters.add(own);
            flood.threads.add(Thread.ofPlatform().daemon().name("flood-" + way).start(() -> flood.run(way, own)));
        }
        return flood;
    }

    /** A port of this machine, as a stranger reaches it. */
    public static Connector tcp(int port) {
        return () -> {
            SocketChannel channel = SocketChannel.open();
            try {
                channel.bind(new InetSocketAddress(InetAddress.getByName(STRANGER), 0));
                channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                channel.configureBlocking(false);
                return channel;
            } catch (IOException e) {
                channel.close();
                throw e;
            }
        };
    }

    /** A Unix socket. */
    public static Connector unix(Path path) {
        return () -> {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(path));
                channel.configureBlocking(false);
                return channel;
            } catch (IOException e) {
                channel.close();
                throw e;
            }
        };
    }

    /** Connections that were made so far. */
    public long opened() {
        return counters.stream().mapToLong(each -> each.opened.get()).sum();
    }

    /** Connections that the server has ended so far, as far as the flood has looked. */
    public long ended() {
        return counters.stream().mapToLong(each -> each.ended.get()).sum();
    }

    private void run(Way way, Counters own) {
        List<SocketChannel> held = new ArrayList<>();
        SplittableRandom random = new SplittableRandom(7);
        try {
            for (int round = 0; !stop.await(way.pauseMillis, TimeUnit.MILLISECONDS); round++) {
                switch (way) {
                    case SLOW, IDLE -> hold(held, own, way == Way.SLOW, round);
                    case GARBAGE -> {
                        byte[] noise = new byte[random.nextInt(100, 2_000)];
                        random.nextBytes(noise);
                        // An HTTP parser waits for the end of the line.
                        noise[99] = '\n';
                        once(held, own, List.of(noise));
                    }
                    case OVERSIZED -> {
                        List<byte[]> parts = new ArrayList<>(List.of(bytes(target.beginning())));
                        parts.addAll(Collections.nCopies(32, bytes(target.endless())));
                        once(held, own, parts);
                    }
                    default -> once(held, own, List.of());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | Error e) {
            failures.add(e);
        } finally {
            held.forEach(Flood::end);
        }
    }

    /** Keeps as many connections as it should, and says the next byte on each. */
    private void hold(List<SocketChannel> held, Counters own, boolean speaks, int round) {
        int before = held.size();
        held.removeIf(channel -> isOver(channel, speaks ? round : -1));
        own.ended.addAndGet(before - held.size());
        while (held.size() < target.held() && connect(held, own)) {
            // Until there are as many, or no more can be made now.
        }
    }

    private boolean isOver(SocketChannel channel, int round) {
        try {
            boolean over = channel.read(ByteBuffer.allocate(4096)) < 0;
            if (!over && round >= 0) {
                byte[] said = bytes(target.beginning());
                channel.write(ByteBuffer.wrap(new byte[] {said[Math.min(round, said.length - 1)]}));
            }
            if (over) {
                end(channel);
            }
            return over;
        } catch (IOException e) {
            end(channel);
            return true;
        }
    }

    /** Says something on a connection of its own, which is closed some rounds later. */
    private void once(List<SocketChannel> held, Counters own, List<byte[]> said) {
        if (!connect(held, own)) {
            return;
        }
        try {
            long deadline = System.nanoTime() + LONGEST_NANOS;
            for (byte[] part : said) {
                write(held.getLast(), ByteBuffer.wrap(part), deadline);
            }
        } catch (IOException e) {
            own.ended.incrementAndGet();
        }
        if (held.size() > 8 || said.isEmpty()) {
            end(held.removeFirst());
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static void write(SocketChannel channel, ByteBuffer part, long deadline) throws IOException {
        while (part.hasRemaining() && System.nanoTime() - deadline < 0) {
            if (channel.write(part) == 0) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Makes one more; false if the kernel has no room for it now, or the server does not listen. */
    private boolean connect(List<SocketChannel> held, Counters own) {
        try {
            held.add(target.connector().connect());
            own.opened.incrementAndGet();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static void end(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            throw new IllegalStateException("a socket cannot be closed", e);
        }
    }

    /** Ends the abuse and its connections. */
    @Override
    public void close() {
        stop.countDown();
        boolean interrupted = false;
        for (Thread thread : threads) {
            try {
                Deadlines.join("the end of " + thread, Duration.ofSeconds(JOIN_SECONDS), thread);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!failures.isEmpty()) {
            throw new AssertionError("the flood failed", failures.getFirst());
        }
    }
}
