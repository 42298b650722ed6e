package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.Sockets.Option;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.PortState;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Map;
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

/** An open soft device: a listening socket, and the numbers and keys that are taken. */
final class SoftDevice implements Device {
    static final int MAX_QP_WR = 16384;
    static final int MAX_SGE = 16;
    static final int MAX_MR = 65536;

    private static final int MAX_CQE = 1 << 20;
    private static final int MAX_RD_ATOMIC = 128;
    private static final int MAX_INLINE = 4096;
    private static final int EVENTS = 1024;
    private static final int KEEPALIVE_SECONDS = 5;
    private static final int KEEPALIVE_PROBES = 3;
    private static final int USER_TIMEOUT_MILLIS = 20_000;
    private static final int ENOMEM = 12;
    private static final Logger LOG = LoggerFactory.getLogger(SoftDevice.class);

    private final String name;
    private final SoftOptions options;
    private final Refusals refusals;
    private final OpenChildren children;
    private final BufferPool buffers = new BufferPool();
    private final SecureRandom random = new SecureRandom();
    private final Map<Integer, Optional<SoftQueuePair>> queuePairs = new ConcurrentHashMap<>();
    private final Set<Integer> keys = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<AsyncEvent> events = new ArrayBlockingQueue<>(EVENTS);
    private final AtomicInteger numbers = new AtomicInteger();
    private final AtomicInteger responders = new AtomicInteger();
    private final Listener listener;

    /** @throws VerbsException if the address cannot be listened on */
    SoftDevice(String name, SoftOptions options, RefusedConnection.Listener refusals) {
        this.refusals = new Refusals(name, refusals);
        this.name = name;
        this.options = options;
        this.children = new OpenChildren(name);
        this.listener = Listener.open(this);
    }

    /** The receiver of refused connections. */
    Refusals refusals() {
        return refusals;
    }

    SoftOptions options() {
        return options;
    }

    OpenChildren children() {
        return children;
    }

    /** The native memory of connections and queue pairs. */
    BufferPool buffers() {
        return buffers;
    }

    int port() {
        return listener.port();
    }

    Gid gid() {
        return Gid.of(options.listening().published());
    }

    int nextNumber() {
        return numbers.incrementAndGet();
    }

    int randomPsn() {
        return random.nextInt(Wire.PSN_MASK + 1);
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

    /** Takes a number for a queue pair that is still to be made. 0 and 1 are special in InfiniBand. */
    int reserveQpn() {
        if (queuePairs.size() >= options.admission().maxQueuePairs()) {
            throw new VerbsException(
                    "create_qp on " + name + ": ENOMEM; max_qp "
                            + options.admission().maxQueuePairs() + " queue pairs are open",
                    ENOMEM);
        }
        int qpn = 2 + random.nextInt(Wire.PSN_MASK - 1);
        while (queuePairs.putIfAbsent(qpn, Optional.empty()) != null) {
            qpn = 2 + random.nextInt(Wire.PSN_MASK - 1);
        }
        return qpn;
    }

    void releaseQpn(int qpn) {
        queuePairs.remove(qpn);
    }

    void publish(SoftQueuePair queuePair) {
        queuePairs.put(queuePair.qpn(), Optional.of(queuePair));
    }

    void remove(SoftQueuePair queuePair) {
        queuePairs.remove(queuePair.qpn());
    }

    Optional<SoftQueuePair> find(int qpn) {
        return queuePairs.getOrDefault(qpn, Optional.empty());
    }

    /** Has the listener check parked handshakes again: a queue pair is ready to receive. */
    void recheckHandshakes() {
        listener.recheck();
    }

    void raise(AsyncEvent event) {
        if (!events.offer(event)) {
            LOG.warn("{}: {} dropped, {} unread events wait", name, event, EVENTS);
        }
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

    static QpOptions clamp(QpOptions wanted) {
        return wanted.withSizes(wanted.sizes().atMost(MAX_QP_WR, MAX_SGE, MAX_INLINE, MAX_RD_ATOMIC));
    }

    static void requireRange(String option, int value, int low, int high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(option + " " + value + " is not within " + low + ".." + high);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public DeviceAttributes attributes() {
        return new DeviceAttributes(
                "farpage soft, wire version " + Wire.VERSION,
                options.admission().maxQueuePairs(),
                MAX_QP_WR,
                MAX_SGE,
                MAX_CQE,
                MAX_MR,
                Long.MAX_VALUE,
                MAX_RD_ATOMIC,
                MAX_QP_WR,
                MAX_INLINE,
                Wire.MAX_MESSAGE,
                true,
                -1);
    }

    @Override
    public PortAttributes queryPort() {
        return new PortAttributes(
                1,
                listener.isOpen() ? PortState.ACTIVE : PortState.DOWN,
                LinkLayer.TCP,
                Mtu.MTU_4096,
                port(),
                0,
                gid(),
                false);
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        SoftProtectionDomain domain = new SoftProtectionDomain(this, nextNumber());
        children.add(domain);
        return domain;
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        children.requireOpen();
        SoftCompletionChannel channel = new SoftCompletionChannel(this, nextNumber());
        children.add(channel);
        return channel;
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe) {
        return createQueue(cqe, Optional.empty());
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
        if (channel instanceof SoftCompletionChannel own && own.device() == this) {
            return createQueue(cqe, Optional.of(own));
        }
        throw new VerbsException("create_cq on " + name + ": EINVAL; " + channel + " is of another device");
    }

    private CompletionQueue createQueue(int cqe, Optional<SoftCompletionChannel> channel) {
        requireRange("cqe", cqe, 1, MAX_CQE);
        SoftCompletionQueue queue = new SoftCompletionQueue(this, nextNumber(), cqe, channel);
        channel.ifPresent(c -> c.add(queue));
        children.add(queue);
        return queue;
    }

    @Override
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return Optional.ofNullable(events.poll(timeout.toNanos(), TimeUnit.NANOSECONDS));
    }

    @Override
    public void close() {
        if (children.close()) {
            listener.close();
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
