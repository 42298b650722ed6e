package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.Sockets.Option;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.Gid;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all objects of an open device share: its options, buffers, sockets, numbers, keys and asynchronous events.
 * Thread-safe.
 */
final class SoftContext {
    private static final int EVENTS = 1024;
    private static final int KEEPALIVE_SECONDS = 5;
    private static final int KEEPALIVE_PROBES = 3;
    private static final int USER_TIMEOUT_MILLIS = 20_000;
    private static final Logger LOG = LoggerFactory.getLogger(SoftContext.class);

    private final String name;
    private final SoftOptions options;
    private final Refusals refusals;
    private final BufferPool buffers = new BufferPool();
    private final SecureRandom random = new SecureRandom();
    private final Set<Integer> keys = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<AsyncEvent> events = new ArrayBlockingQueue<>(EVENTS);
    private final AtomicInteger numbers = new AtomicInteger();
    private final AtomicInteger responders = new AtomicInteger();

    SoftContext(String name, SoftOptions options, RefusedConnection.Listener refusals) {
        this.name = name;
        this.options = options;
        this.refusals = new Refusals(name, refusals);
    }

    String name() {
        return name;
    }

    SoftOptions options() {
        return options;
    }

    /** The receiver of refused connections. */
    Refusals refusals() {
        return refusals;
    }

    /** The native memory of connections and queue pairs. */
    BufferPool buffers() {
        return buffers;
    }

    /** The address that peers connect to. */
    Gid gid() {
        return Gid.of(options.listening().published());
    }

    /** A number for an object's name. */
    int nextNumber() {
        return numbers.incrementAndGet();
    }

    int randomPsn() {
        return random.nextInt(Wire.PSN_MASK + 1);
    }

    /** A number for a queue pair; another one may have it. 0 and 1 are special in InfiniBand. */
    int randomQpn() {
        return 2 + random.nextInt(Wire.PSN_MASK - 1);
    }

    /** The CPU for the next responder, if responders are pinned. */
    OptionalInt nextResponderCpu() {
        List<Integer> cpus = options.responders().cpus();
        return cpus.isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of(cpus.get(Math.floorMod(responders.getAndIncrement(), cpus.size())));
    }

    /** A key that no open region of this device has. Random, so that a peer cannot guess it. */
    int newKey() {
        int key = random.nextInt();
        while (key == 0 || !keys.add(key)) {
            key = random.nextInt();
        }
        return key;
    }

    void releaseKey(int key) {
        keys.remove(key);
    }

    void raise(AsyncEvent event) {
        if (!events.offer(event)) {
            LOG.warn("{}: {} dropped, {} unread events wait", name, event, EVENTS);
        }
    }

    Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return Optional.ofNullable(events.poll(timeout.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** A TCP socket of {@code peer}'s family, set up as all of this device's. */
    int openSocket(Errno errno, InetAddress peer, int flags) {
        int fd = Sockets.openTcp(errno, peer instanceof Inet6Address ? Sockets.AF_INET6 : Sockets.AF_INET, flags);
        configure(errno, fd);
        return fd;
    }

    void configure(Errno errno, int fd) {
        try {
            Sockets.setOption(errno, fd, Option.TCP_NODELAY, 1);
            // These detect a host that vanished, even if no timer of a queue pair runs.
            Sockets.setOption(errno, fd, Option.SO_KEEPALIVE, 1);
            Sockets.setOption(errno, fd, Option.TCP_KEEPIDLE, KEEPALIVE_SECONDS);
            Sockets.setOption(errno, fd, Option.TCP_KEEPINTVL, KEEPALIVE_SECONDS);
            Sockets.setOption(errno, fd, Option.TCP_KEEPCNT, KEEPALIVE_PROBES);
            Sockets.setOption(errno, fd, Option.TCP_USER_TIMEOUT, USER_TIMEOUT_MILLIS);
            int buffer = options.listening().socketBuffer();
            if (buffer > 0) {
                Sockets.setOption(errno, fd, Option.SO_SNDBUF, buffer);
                Sockets.setOption(errno, fd, Option.SO_RCVBUF, buffer);
            }
        } catch (PosixException e) {
            // Only a socket whose peer has closed it refuses these; the next call on the socket fails too.
            LOG.debug("{}: {}", name, e.getMessage());
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
