package io.farpage.verbs.ibverbs;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
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
    private final Device device;
    private final NativePd pd;

    IbvProtectionDomain(Device device, NativeDevice nativeDevice) {
        this.device = device;
        this.pd = new NativePd(nativeDevice);
    }

    @Override
    public Device device() {
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
        return pd.children().addSlowly(() -> new IbvMemoryRegion(pd, memory, access));
    }

    @Override
    public QueuePair createQueuePair(CompletionQueue sendQueue, CompletionQueue receiveQueue, QpOptions options) {
        return create(sendQueue, receiveQueue, null, options);
    }

    @Override
    public QueuePair createQueuePair(
            CompletionQueue sendQueue, CompletionQueue receiveQueue, SharedReceiveQueue shared, QpOptions options) {
        if (!(shared instanceof IbvSharedReceiveQueue own) || own.domain() != pd) {
            throw new IllegalArgumentException(shared + " is not a shared receive queue of " + pd);
        }
        return create(sendQueue, receiveQueue, own, options);
    }

    private IbvQueuePair create(
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            @Nullable IbvSharedReceiveQueue shared,
            QpOptions options) {
        IbvQueues queues = new IbvQueues(requireOwn(sendQueue), requireOwn(receiveQueue), shared);
        return pd.children().add(() -> {
            queues.requireOpen();
            return new IbvQueuePair(pd, queues, pd.device().clamp(options));
        });
    }

    private IbvCompletionQueue requireOwn(CompletionQueue queue) {
        if (queue instanceof IbvCompletionQueue own && own.device() == pd.device()) {
            return own;
        }
        throw new IllegalArgumentException(queue + " is not a completion queue of " + device);
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
        return pd.children().add(() -> new IbvSharedReceiveQueue(pd, maxWr, maxSge));
    }

    @Override
    public void close() {
        pd.children().close(() -> {
            Failure.check(
                    pd.device().library().release(Release.DEALLOC_PD, pd.pointer()),
                    "dealloc_pd",
                    pd.toString(),
                    "the device refused");
            pd.device().children().remove(this);
        });
    }

    @Override
    public String toString() {
        return pd.toString();
    }
}
