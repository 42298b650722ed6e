package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code struct ibv_context} and the port chosen. Also the lock under which its objects are made and closed, except for
 * memory regions: pinning the pages of a large one takes seconds.
 */
final class IbvDevice implements Device {
    private static final int ENODEV = 19;

    private final DeviceContext context;
    private final Ports.Choice.Usable place;
    private final DeviceAttributes attributes;
    private final Quirks quirks;
    private final Optional<Host.Node> node;
    private final Ops ops;
    private final AsyncEvents events;
    private final Children children;
    private final List<IbvSharedReceiveQueue> sharedQueues = new CopyOnWriteArrayList<>();
    private final AtomicInteger nextSharedQueue = new AtomicInteger();
    private final AtomicLong nextSequence = new AtomicLong();

    IbvDevice(DeviceContext context, Ports.Choice.Usable place, DeviceAttributes attributes, Quirks quirks) {
        this.context = context;
        this.place = place;
        this.attributes = attributes;
        this.quirks = quirks;
        this.node = context.host().node(context.name());
        // SAFETY: the library returned a struct ibv_context, which lives until the device is closed.
        MemorySegment fields = Native.at(context.pointer(), Structs.Context.SIZE);
        this.ops = new Ops(fields);
        this.events =
                new AsyncEvents(context.library(), context.pointer(), fields.get(JAVA_INT, Structs.Context.ASYNC_FD));
        this.children = new Children(this, toString());
    }

    LibIbverbs library() {
        return context.library();
    }

    Host host() {
        return context.host();
    }

    /** {@code struct ibv_context}. */
    long context() {
        return context.pointer();
    }

    int port() {
        return place.port();
    }

    Quirks quirks() {
        return quirks;
    }

    Ops ops() {
        return ops;
    }

    Children children() {
        return children;
    }

    /** A sequence number above all that any queue pair of this device used, see {@link WrRing}. */
    long firstSequence() {
        return nextSequence.get();
    }

    void retireSequences(long end) {
        nextSequence.accumulateAndGet(end, Math::max);
    }

    /** Adds a shared receive queue; returns its id. */
    int addShared(IbvSharedReceiveQueue queue) {
        sharedQueues.add(queue);
        return nextSharedQueue.getAndIncrement();
    }

    void removeShared(IbvSharedReceiveQueue queue) {
        sharedQueues.remove(queue);
    }

    /** Frees the slot of a completed receive of a shared queue; returns the caller's id of the receive. */
    long releaseShared(long id) {
        for (int i = 0; i < sharedQueues.size(); i++) {
            IbvSharedReceiveQueue queue = sharedQueues.get(i);
            if (queue.id() == WrId.sharedQueue(id)) {
                return queue.release(WrId.slot(id));
            }
        }
        return 0;
    }

    /** @throws IllegalArgumentException if no message may be this long */
    void requireLength(int length) {
        if (length < 0 || length > attributes.maxMessageSize()) {
            throw new IllegalArgumentException(
                    "length " + length + " is not within 0.." + attributes.maxMessageSize() + " of " + this);
        }
    }

    /** {@code options} within this device's limits. */
    QpOptions clamp(QpOptions options) {
        QpOptions.Retries retries = options.retries();
        QpOptions.Path path = options.path();
        return new QpOptions(
                options.sizes()
                        .atMost(
                                attributes.maxQpWr(),
                                attributes.maxSge(),
                                attributes.maxInlineData(),
                                attributes.maxQpRdAtom()),
                new QpOptions.Retries(
                        retries.timeout(),
                        Math.min(retries.retryCnt(), quirks.maxRetryCnt()),
                        retries.rnrRetry(),
                        retries.minRnrTimer()),
                new QpOptions.Path(
                        path.mtu().min(queryPort().activeMtu()),
                        path.hopLimit(),
                        path.trafficClass(),
                        path.serviceLevel()),
                options.access());
    }

    @Override
    public String name() {
        return context.name();
    }

    @Override
    public String presentName() {
        return node.flatMap(host()::device).orElse(name());
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    /**
     * A driver that cannot take a device away from its users, such as rxe, keeps answering for a device that was
     * removed, and the removal waits until the users close it. The only sign of the removal is that the device's node
     * is gone. A device that was renamed has it still.
     */
    private void requirePresent() {
        if (node.isPresent() && host().device(node.get()).isEmpty()) {
            throw new VerbsException("query_port on " + this + ": ENODEV; the device was removed; close it", ENODEV);
        }
    }

    @Override
    public PortAttributes queryPort() {
        synchronized (this) {
            children.requireOpen();
            requirePresent();
            Ports.Port port = Ports.query(context, place.port());
            GidTable.Entry gid = place.gid().read();
            return new PortAttributes(
                    port.number(),
                    port.state(),
                    port.linkLayer(),
                    port.activeMtu(),
                    port.lid(),
                    gid.index(),
                    gid.gid(),
                    port.grhRequired());
        }
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        return children.add(() -> new IbvProtectionDomain(this));
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        return children.add(() -> new IbvCompletionChannel(this));
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe) {
        requireCapacity(cqe);
        return children.add(() -> new IbvCompletionQueue(this, cqe, null));
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
        requireCapacity(cqe);
        if (!(channel instanceof IbvCompletionChannel own) || own.device() != this) {
            throw new IllegalArgumentException(channel + " is not a completion channel of " + this);
        }
        return children.add(() -> own.addQueue(cqe));
    }

    private void requireCapacity(int cqe) {
        if (cqe < 1 || cqe > attributes.maxCqe()) {
            throw new IllegalArgumentException("cqe " + cqe + " is not within 1.." + attributes.maxCqe());
        }
    }

    @Override
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return events.await(timeout);
    }

    @Override
    public void close() {
        children.close(() -> {
            events.stop();
            Failure.check(
                    library().release(Release.CLOSE_DEVICE, context()),
                    "close_device",
                    toString(),
                    "the device refused");
        });
    }

    /** {@code mlx5_0/1}. */
    @Override
    public String toString() {
        return context.name() + "/" + place.port();
    }
}
