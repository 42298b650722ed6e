package io.farpage.verbs.soft;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.PortState;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** An open soft device: a listening socket, and the numbers and keys that are taken. */
final class SoftDevice implements Device {
    static final int MAX_QP_WR = 16384;
    static final int MAX_SGE = 16;
    static final int MAX_MR = 65536;

    private static final int MAX_CQE = 1 << 20;
    private static final int MAX_RD_ATOMIC = 128;
    private static final int MAX_INLINE = 4096;
    private static final int ENOMEM = 12;

    private final SoftContext context;
    private final OpenChildren children;
    private final Map<Integer, Optional<SoftQueuePair>> queuePairs = new ConcurrentHashMap<>();
    private final Listener listener;

    /** @throws VerbsException if the address cannot be listened on */
    SoftDevice(SoftContext context) {
        this.context = context;
        this.children = new OpenChildren(context.name());
        this.listener = Listener.open(context, qpn -> queuePairs.getOrDefault(qpn, Optional.empty()));
    }

    SoftContext context() {
        return context;
    }

    int port() {
        return listener.port();
    }

    /** Takes a number for a queue pair that is still to be made. */
    int reserveQpn() {
        int most = context.options().admission().maxQueuePairs();
        if (queuePairs.size() >= most) {
            throw new VerbsException(
                    "create_qp on " + context + ": ENOMEM; max_qp " + most + " queue pairs are open", ENOMEM);
        }
        int qpn = context.randomQpn();
        while (queuePairs.putIfAbsent(qpn, Optional.empty()) != null) {
            qpn = context.randomQpn();
        }
        return qpn;
    }

    void releaseQpn(int qpn) {
        queuePairs.remove(qpn);
    }

    /** Peers can reach a queue pair from now on. */
    void publish(SoftQueuePair queuePair) {
        queuePairs.put(queuePair.qpn(), Optional.of(queuePair));
    }

    /** Has the listener check parked handshakes again: a queue pair is ready to receive. */
    void recheckHandshakes() {
        listener.recheck();
    }

    /** An object of the device was closed. */
    void onClosed(Object child) {
        children.remove(child);
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
        return context.name();
    }

    @Override
    public DeviceAttributes attributes() {
        return new DeviceAttributes(
                "farpage soft, wire version " + Wire.VERSION,
                context.options().admission().maxQueuePairs(),
                MAX_QP_WR,
                MAX_SGE,
                MAX_CQE,
                MAX_MR,
                Long.MAX_VALUE,
                MAX_RD_ATOMIC,
                MAX_QP_WR,
                MAX_INLINE,
                Wire.MAX_MESSAGE,
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
                context.gid(),
                false);
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        SoftProtectionDomain domain = new SoftProtectionDomain(this);
        children.add(domain);
        return domain;
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        children.requireOpen();
        SoftCompletionChannel channel = new SoftCompletionChannel(context, context.nextNumber(), this::onClosed);
        children.add(channel);
        return channel;
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe) {
        return createQueue(cqe, Optional.empty());
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
        if (channel instanceof SoftCompletionChannel own && own.device() == context) {
            return createQueue(cqe, Optional.of(own));
        }
        throw new VerbsException("create_cq on " + context + ": EINVAL; " + channel + " is of another device");
    }

    private CompletionQueue createQueue(int cqe, Optional<SoftCompletionChannel> channel) {
        requireRange("cqe", cqe, 1, MAX_CQE);
        SoftCompletionQueue queue = new SoftCompletionQueue(
                context, context.nextNumber(), cqe, channel.map(SoftCompletionChannel::event), closed -> {
                    channel.ifPresent(c -> c.remove(closed));
                    onClosed(closed);
                });
        channel.ifPresent(c -> c.add(queue));
        children.add(queue);
        return queue;
    }

    @Override
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return context.awaitAsyncEvent(timeout);
    }

    @Override
    public void close() {
        if (children.close()) {
            listener.close();
        }
    }

    @Override
    public String toString() {
        return context.name();
    }
}
