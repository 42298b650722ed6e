package io.farpage.verbs.soft;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/** A protection domain: regions by key, and the queue pairs that may use them. */
final class SoftProtectionDomain implements ProtectionDomain {
    private static final int ENOMEM = 12;
    private static final int EINVAL = 22;
    private static final int EBUSY = 16;
    /** How long a transfer with a peer that does not move may hold up deregistration before its connection is ended. */
    private static final long QUIESCENCE_NANOS = 1_000_000_000L;

    private final SoftDevice device;
    private final SoftContext context;
    private final int number;
    private final OpenChildren children;
    private final List<Member> members = new CopyOnWriteArrayList<>();
    private final Regions regions = new Regions();

    /** A queue pair of the domain, and what else it belongs to. */
    private record Member(
            SoftQueuePair queuePair,
            SoftCompletionQueue sends,
            SoftCompletionQueue receives,
            Optional<SoftSharedReceiveQueue> shared) {}

    SoftProtectionDomain(SoftDevice device) {
        this.device = device;
        this.context = device.context();
        this.number = context.nextNumber();
        this.children = new OpenChildren(toString());
    }

    @Override
    public SoftDevice device() {
        return device;
    }

    @Override
    public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("memory " + memory
                    + " cannot be registered: it must be native (allocated from an Arena or mapped) and not empty");
        }
        AccessFlag.requireConsistent(access);
        synchronized (this) {
            if (regions.table().size() >= SoftDevice.MAX_MR) {
                throw new VerbsException(
                        "reg_mr on " + this + ": ENOMEM; max_mr " + SoftDevice.MAX_MR + " regions are registered",
                        ENOMEM);
            }
            SoftMemoryRegion region = new SoftMemoryRegion(memory, context.newKey(), access, this::deregister);
            children.add(region);
            regions.add(region);
            return region;
        }
    }

    private void deregister(SoftMemoryRegion region) {
        synchronized (this) {
            if (!children.contains(region)) {
                return;
            }
            regions.remove(region);
        }
        long deadline = System.nanoTime() + QUIESCENCE_NANOS;
        SoftQueuePair busy = null;
        for (Member member : members) {
            busy = member.queuePair().awaitQuiescence(deadline) ? busy : member.queuePair();
        }
        if (busy != null) {
            throw new VerbsException(
                    "dereg_mr on " + this + ": EBUSY; the responder of " + busy
                            + " did not stop and may still use the memory, which must stay mapped",
                    EBUSY);
        }
        if (children.remove(region)) {
            context.releaseKey(region.rkey());
        }
    }

    @Override
    public QueuePair createQueuePair(CompletionQueue sendQueue, CompletionQueue receiveQueue, QpOptions options) {
        return create(sendQueue, receiveQueue, Optional.empty(), options);
    }

    @Override
    public QueuePair createQueuePair(
            CompletionQueue sendQueue, CompletionQueue receiveQueue, SharedReceiveQueue shared, QpOptions options) {
        if (!(shared instanceof SoftSharedReceiveQueue own) || !children.contains(own)) {
            throw new VerbsException(
                    "create_qp on " + this + ": EINVAL; " + shared + " is closed, or of another domain", EINVAL);
        }
        return create(sendQueue, receiveQueue, Optional.of(own), options);
    }

    private QueuePair create(
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Optional<SoftSharedReceiveQueue> shared,
            QpOptions options) {
        SoftCompletionQueue sends = ownQueue(sendQueue);
        SoftCompletionQueue receives = ownQueue(receiveQueue);
        QpOptions clamped = SoftDevice.clamp(options);
        int qpn = device.reserveQpn();
        QpQueues queues = new QpQueues(sends.sink(), receives.sink(), shared.map(SoftSharedReceiveQueue::queue));
        QpInit init = new QpInit(context, device.port(), regions, queues, clamped, qpn);
        SoftQueuePair queuePair = new SoftQueuePair(init, new Parents());
        try {
            children.add(queuePair);
            sends.add(queuePair);
            if (receives != sends) {
                receives.add(queuePair);
            }
        } catch (RuntimeException e) {
            sends.remove(queuePair);
            children.remove(queuePair);
            queuePair.initiator().close();
            device.releaseQpn(qpn);
            throw e;
        }
        shared.ifPresent(s -> s.users().add(queuePair));
        members.add(new Member(queuePair, sends, receives, shared));
        device.publish(queuePair);
        return queuePair;
    }

    private final class Parents implements SoftQueuePair.Parents {
        @Override
        public void onReadyToReceive() {
            device.recheckHandshakes();
        }

        @Override
        public void onClose(SoftQueuePair queuePair) {
            List<Member> its = members.stream()
                    .filter(member -> member.queuePair() == queuePair)
                    .toList();
            its.forEach(member -> {
                member.sends().remove(queuePair);
                member.receives().remove(queuePair);
            });
            queuePair.initiator().close();
            device.releaseQpn(queuePair.qpn());
            members.removeAll(its);
            its.forEach(member -> member.shared().ifPresent(s -> s.users().remove(queuePair)));
            children.remove(queuePair);
        }
    }

    private SoftCompletionQueue ownQueue(CompletionQueue queue) {
        if (queue instanceof SoftCompletionQueue own && own.device() == context) {
            return own;
        }
        throw new VerbsException("create_qp on " + this + ": EINVAL; " + queue + " is of another device", EINVAL);
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
        SoftDevice.requireRange("max_wr", maxWr, 1, SoftDevice.MAX_QP_WR);
        SoftDevice.requireRange("max_sge", maxSge, 1, SoftDevice.MAX_SGE);
        SoftSharedReceiveQueue queue = new SoftSharedReceiveQueue(
                "srq " + context.nextNumber() + " of " + context, maxWr, maxSge, children::remove);
        children.add(queue);
        return queue;
    }

    @Override
    public void close() {
        if (children.close()) {
            device.onClosed(this);
        }
    }

    @Override
    public String toString() {
        return "pd " + number + " of " + context;
    }
}
