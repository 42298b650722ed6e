package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code struct ibv_context} and the port chosen: what a device's objects know of it. Also the lock under which they
 * are made and closed, except for memory regions: pinning the pages of a large one takes seconds.
 */
final class NativeDevice {
    private static final int ENODEV = 19;

    private final DeviceContext context;
    private final Ports.Choice.Usable place;
    private final DeviceAttributes attributes;
    private final Quirks quirks;
    private final Optional<Host.Node> node;
    private final Ops ops;
    /** The descriptor of the device's asynchronous events. */
    private final int asyncFd;

    private final Children children;
    private final SharedQueues sharedQueues = new SharedQueues();
    private final AtomicLong nextSequence = new AtomicLong();

    NativeDevice(DeviceContext context, Ports.Choice.Usable place, DeviceAttributes attributes, Quirks quirks) {
        this.context = context;
        this.place = place;
        this.attributes = attributes;
        this.quirks = quirks;
        this.node = context.host().node(context.name());
        // SAFETY: the library returned a struct ibv_context, which lives until the device is closed.
        MemorySegment fields = Native.at(context.pointer(), Structs.Context.SIZE);
        this.ops = new Ops(fields);
        this.asyncFd = fields.get(JAVA_INT, Structs.Context.ASYNC_FD);
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

    int asyncFd() {
        return asyncFd;
    }

    int port() {
        return place.port();
    }

    DeviceAttributes attributes() {
        return attributes;
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

    SharedQueues sharedQueues() {
        return sharedQueues;
    }

    /** A sequence number above all that any queue pair of this device used, see {@link WrRing}. */
    long firstSequence() {
        return nextSequence.get();
    }

    void retireSequences(long end) {
        nextSequence.accumulateAndGet(end, Math::max);
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

    /** The name that the device was opened by. */
    String name() {
        return context.name();
    }

    /** The name that the device has now, if it was renamed since. */
    String presentName() {
        return node.flatMap(host()::device).orElse(name());
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

    /** Asks the device and the host; the port's GID may have changed. */
    PortAttributes queryPort() {
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

    /** {@code mlx5_0/1}. */
    @Override
    public String toString() {
        return context.name() + "/" + place.port();
    }
}
