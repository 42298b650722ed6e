package io.farpage.verbs.ibverbs;

import io.farpage.linux.Errno;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code struct ibv_pd}. */
final class IbvProtectionDomain implements ProtectionDomain {
    private final IbvDevice device;
    private final long pd;
    private final String name;
    private final Children children;

    IbvProtectionDomain(IbvDevice device) {
        this.device = device;
        Errno errno = Errno.create();
        this.pd = Failure.check(
                device.library().allocPd(errno, device.context()),
                errno,
                "alloc_pd",
                device.toString(),
                "the device has no more protection domains");
        this.name = device + " pd 0x" + Long.toHexString(pd);
        this.children = new Children(device, name);
    }

    long pointer() {
        return pd;
    }

    Children children() {
        return children;
    }

    @Override
    public IbvDevice device() {
        return device;
    }

    @Override
    public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
        AccessFlag.requireConsistent(access);
        if (!memory.isNative()) {
            throw new IllegalArgumentException("only native memory can be registered, not an array on the Java heap");
        }
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("an empty segment cannot be registered");
        }
        return children.addSlowly(() -> new IbvMemoryRegion(this, memory, access));
    }

    @Override
    public QueuePair createQueuePair(CompletionQueue sendQueue, CompletionQueue receiveQueue, QpOptions options) {
        return create(sendQueue, receiveQueue, null, options);
    }

    @Override
    public QueuePair createQueuePair(
            CompletionQueue sendQueue, CompletionQueue receiveQueue, SharedReceiveQueue shared, QpOptions options) {
        if (!(shared instanceof IbvSharedReceiveQueue own) || own.domain() != this) {
            throw new IllegalArgumentException(shared + " is not a shared receive queue of " + name);
        }
        return create(sendQueue, receiveQueue, own, options);
    }

    private IbvQueuePair create(
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            @Nullable IbvSharedReceiveQueue shared,
            QpOptions options) {
        IbvQueues queues = new IbvQueues(requireOwn(sendQueue), requireOwn(receiveQueue), shared);
        return children.add(() -> {
            queues.requireOpen();
            return new IbvQueuePair(this, queues, device.clamp(options));
        });
    }

    private IbvCompletionQueue requireOwn(CompletionQueue queue) {
        if (queue instanceof IbvCompletionQueue own && own.device() == device) {
            return own;
        }
        throw new IllegalArgumentException(queue + " is not a completion queue of " + device);
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
        return children.add(() -> new IbvSharedReceiveQueue(this, maxWr, maxSge));
    }

    @Override
    public void close() {
        children.close(() -> {
            Failure.check(device.library().release(Release.DEALLOC_PD, pd), "dealloc_pd", name, "the device refused");
            device.children().remove(this);
        });
    }

    @Override
    public String toString() {
        return name;
    }
}
