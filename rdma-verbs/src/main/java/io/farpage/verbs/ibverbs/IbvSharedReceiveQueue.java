package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.linux.Errno;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.Structs.SrqInitAttr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** {@code struct ibv_srq}. */
final class IbvSharedReceiveQueue implements SharedReceiveQueue {
    private final NativePd domain;
    private final NativeDevice device;
    private final long srq;
    private final String name;
    private final Children users;
    private final SharedSlots slots;
    private final RecvChain chain;
    private volatile boolean closed;

    IbvSharedReceiveQueue(NativePd domain, int maxWr, int maxSge) {
        this.domain = domain;
        this.device = domain.device();
        requireRange("max_wr", maxWr, Math.min(device.attributes().maxSrqWr(), WrId.MAX_SLOTS));
        requireRange("max_sge", maxSge, device.attributes().maxSge());
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = arena.allocate(SrqInitAttr.SIZE, 8);
            attr.set(JAVA_INT, SrqInitAttr.MAX_WR, maxWr);
            attr.set(JAVA_INT, SrqInitAttr.MAX_SGE, maxSge);
            this.srq = Failure.check(
                    device.library().createSrq(errno, domain.pointer(), attr),
                    errno,
                    "create_srq",
                    domain.toString(),
                    "no memory for " + maxWr + " receives of " + maxSge + " entries; lower max_wr or max_sge");
        }
        this.name = device + " srq 0x" + Long.toHexString(srq);
        this.users = new Children(device, name);
        this.chain = new RecvChain(maxWr, maxSge);
        this.slots = device.sharedQueues().add(maxWr);
    }

    private static void requireRange(String what, int value, int high) {
        if (value < 1 || value > high) {
            throw new IllegalArgumentException(what + " " + value + " is not within 1.." + high);
        }
    }

    NativePd domain() {
        return domain;
    }

    long pointer() {
        return srq;
    }

    int capacity() {
        return slots.capacity();
    }

    Children users() {
        return users;
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        device.requireLength(length);
        int slot = slots.acquire(wrId);
        if (slot < 0) {
            throw new QueueFullException(name, "max_wr", slots.capacity());
        }
        chain.add(WrId.ofSharedRecv(slots.id(), slot), localAddress, length, lkey);
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        device.requireLength(length);
        chain.addEntry(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
        if (chain.count() == 0) {
            return;
        }
        int errno = device.ops().postSrqRecv(srq, chain.first(), chain.badWr());
        if (errno != 0) {
            Refusal refusal = chain.refusal(errno);
            for (int i = refusal.posted(); i < refusal.count(); i++) {
                slots.release(WrId.slot(chain.id(i)));
            }
            chain.clear();
            throw Failure.of("post_srq_recv", name, errno, refusal.toString());
        }
        chain.clear();
    }

    @Override
    public void close() {
        users.close(() -> {
            Failure.check(
                    device.library().release(Release.DESTROY_SRQ, srq), "destroy_srq", name, "the device refused");
            closed = true;
            device.sharedQueues().remove(slots);
            domain.children().remove(this);
        });
    }

    @Override
    public String toString() {
        return name;
    }
}
