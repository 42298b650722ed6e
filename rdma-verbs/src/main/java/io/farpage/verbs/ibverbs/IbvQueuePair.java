package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.verbs.Gid;
import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.WorkRequests.Opcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** {@code struct ibv_qp}, connected reliably. */
final class IbvQueuePair implements QueuePair {
    private final IbvProtectionDomain domain;
    private final IbvDevice device;
    private final IbvCompletionQueue sendQueue;
    private final IbvCompletionQueue receiveQueue;
    private final @Nullable IbvSharedReceiveQueue shared;
    private final QpOptions options;
    private final NativeQp qp;
    private final String name;
    private final int lid;
    private final Gid gid;
    private final WrRing sends;
    private final WrRing receives;
    private final SendChain sendChain;
    private final RecvChain recvChain;
    private final MemorySegment badWr = Arena.ofAuto().allocate(JAVA_LONG);
    private int psn = randomPsn();
    /** READs and atomics in flight at once that both ends take. */
    private int initiatorDepth = 1;

    /** What it was last known to be: the device moves it to ERR by itself. */
    private volatile QpState known = QpState.RESET;

    private volatile boolean closed;

    IbvQueuePair(
            IbvProtectionDomain domain,
            IbvCompletionQueue sendQueue,
            IbvCompletionQueue receiveQueue,
            @Nullable IbvSharedReceiveQueue shared,
            QpOptions options) {
        this.domain = domain;
        this.device = domain.device();
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.shared = shared;
        this.options = options;
        PortAttributes port = device.queryPort();
        if (port.gid().isZero()) {
            throw new VerbsException("create_qp on " + device + ": gid index " + port.gidIndex()
                    + " is empty now; give the network interface its address back, or open the device again");
        }
        this.lid = port.lid();
        this.gid = port.gid();
        sendQueue.reservations().reserve(options.maxSendWr(), null);
        try {
            receiveQueue.reservations().reserve(ownReceives(), shared);
            try {
                this.qp = NativeQp.create(domain, sendQueue, receiveQueue, shared, options);
            } catch (VerbsException e) {
                receiveQueue.reservations().release(ownReceives(), shared);
                throw e;
            }
        } catch (VerbsException e) {
            sendQueue.reservations().release(options.maxSendWr(), null);
            throw e;
        }
        this.name = device + " qp 0x%06x".formatted(qp.number());
        long first = device.firstSequence();
        this.sends = new WrRing(options.maxSendWr(), first);
        this.receives = new WrRing(options.maxRecvWr(), first);
        this.sendChain = new SendChain(options.maxSendWr(), options.maxSge(), options.maxInlineData());
        this.recvChain = new RecvChain(shared == null ? options.maxRecvWr() : 1, options.maxSge());
        sendQueue.users().add(() -> this);
        receiveQueue.users().add(() -> this);
        sendQueue.attach(this);
        if (receiveQueue != sendQueue) {
            receiveQueue.attach(this);
        }
        if (shared != null) {
            shared.users().add(() -> this);
        }
    }

    private static int randomPsn() {
        return ThreadLocalRandom.current().nextInt(QpEndpoint.MAX_24_BIT + 1);
    }

    /** Receives that are this queue pair's alone. */
    private int ownReceives() {
        return shared == null ? options.maxRecvWr() : 0;
    }

    WrRing sends() {
        return sends;
    }

    WrRing receives() {
        return receives;
    }

    /** A work request has failed, so the device has moved this to ERR. */
    void noteFailure() {
        if (known != QpState.RESET) {
            known = QpState.ERR;
        }
    }

    @Override
    public QpEndpoint endpoint() {
        return new QpEndpoint(qp.number(), lid, gid, psn);
    }

    @Override
    public int qpn() {
        return qp.number();
    }

    /** Asks the device while it may have moved by itself, so not for every work request. */
    @Override
    public QpState state() {
        requireOpen();
        if (known == QpState.RTR || known == QpState.RTS) {
            known = qp.queryState();
        }
        return known;
    }

    @Override
    public QpOptions options() {
        return options;
    }

    @Override
    public void modifyToInit() {
        modify(QpState.INIT, () -> qp.toInit(options));
    }

    @Override
    public void modifyToRtr(QpEndpoint remote, PathLimits peer) {
        modify(QpState.RTR, () -> {
            qp.toRtr(options, device.queryPort(), remote, peer.mtu());
            initiatorDepth = Math.min(options.maxRdAtomic(), peer.maxRdAtomic());
        });
    }

    @Override
    public void modifyToRts() {
        modify(QpState.RTS, () -> qp.toRts(options, psn, initiatorDepth));
    }

    @Override
    public void modifyToErr() {
        boolean fresh = known == QpState.RESET;
        modify(QpState.ERR, () -> {
            if (fresh) {
                // The specification permits RESET→ERR, Linux does not.
                qp.toInit(options);
            }
            qp.toErr();
        });
    }

    @Override
    public void modifyToReset() {
        modify(QpState.RESET, qp::toReset);
        // What is still in the completion queues is of the old life: its numbers are not outstanding any more.
        sends.clear();
        receives.clear();
        psn = randomPsn();
    }

    private void modify(QpState next, Runnable transition) {
        QpState from = state();
        if (!from.canMoveTo(next)) {
            throw new IllegalTransitionException(name, from, next);
        }
        forgetChains();
        try {
            transition.run();
            known = next;
        } catch (VerbsException e) {
            known = qp.queryState();
            throw e;
        }
    }

    private void forgetChains() {
        sends.forget(sendChain.count());
        sendChain.clear();
        receives.forget(recvChain.count());
        recvChain.clear();
    }

    @Override
    public void prepareRead(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        prepare(Opcode.RDMA_READ, wrId, localAddress, length, lkey, flags);
        sendChain.setRemote(remoteAddress, rkey);
    }

    @Override
    public void prepareWrite(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        prepare(Opcode.RDMA_WRITE, wrId, localAddress, length, lkey, flags);
        sendChain.setRemote(remoteAddress, rkey);
    }

    @Override
    public void prepareWriteWithImm(
            long wrId,
            long localAddress,
            int length,
            int lkey,
            long remoteAddress,
            int rkey,
            int immediate,
            int flags) {
        prepare(Opcode.RDMA_WRITE_WITH_IMM, wrId, localAddress, length, lkey, flags);
        sendChain.setRemote(remoteAddress, rkey);
        sendChain.setImmediate(immediate);
    }

    @Override
    public void prepareSend(long wrId, long localAddress, int length, int lkey, int flags) {
        prepare(Opcode.SEND, wrId, localAddress, length, lkey, flags);
    }

    @Override
    public void prepareSendWithImm(long wrId, long localAddress, int length, int lkey, int immediate, int flags) {
        prepare(Opcode.SEND_WITH_IMM, wrId, localAddress, length, lkey, flags);
        sendChain.setImmediate(immediate);
    }

    @Override
    public void prepareCompareAndSwap(
            long wrId,
            long localAddress,
            int lkey,
            long remoteAddress,
            int rkey,
            long expected,
            long desired,
            int flags) {
        prepare(Opcode.ATOMIC_CMP_AND_SWP, wrId, localAddress, Long.BYTES, lkey, flags);
        sendChain.setAtomic(remoteAddress, rkey, expected, desired);
    }

    @Override
    public void prepareFetchAndAdd(
            long wrId, long localAddress, int lkey, long remoteAddress, int rkey, long addend, int flags) {
        prepare(Opcode.ATOMIC_FETCH_AND_ADD, wrId, localAddress, Long.BYTES, lkey, flags);
        sendChain.setAtomic(remoteAddress, rkey, addend, 0);
    }

    private void prepare(int opcode, long wrId, long localAddress, int length, int lkey, int flags) {
        device.requireLength(length);
        if (sends.space() == 0) {
            throw new QueueFullException(name, "max_send_wr", sends.capacity());
        }
        sendChain.add(WrId.ofSend(sends.end()), opcode, flags, localAddress, length, lkey);
        sends.add(wrId);
    }

    @Override
    public void appendSge(long localAddress, int length, int lkey) {
        device.requireLength(length);
        sendChain.append(localAddress, length, lkey);
    }

    @Override
    public void postSend() {
        requireOpen();
        QpState state = known;
        if (state != QpState.RTS && state != QpState.ERR) {
            forgetChains();
            throw new VerbsException(
                    "post_send on " + name + ": its state is " + state + "; move it to RTS first", Errno.EINVAL);
        }
        int count = sendChain.count();
        if (count == 0) {
            return;
        }
        int errno = device.ops().postSend(qp.pointer(), sendChain.first(), badWr.address());
        sendChain.clear();
        if (errno != 0) {
            int posted = posted(sendChain.indexOf(takeBad()), count);
            sends.forget(count - posted);
            throw refused("post_send", errno, posted, count);
        }
        if (state == QpState.ERR) {
            qp.flush();
        }
    }

    @Override
    public int sendQueueSpace() {
        return sends.space();
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        if (shared != null) {
            throw new VerbsException(
                    "post_recv on " + name + ": it takes its receives from " + shared + "; post them there",
                    Errno.EINVAL);
        }
        device.requireLength(length);
        if (receives.space() == 0) {
            throw new QueueFullException(name, "max_recv_wr", receives.capacity());
        }
        recvChain.add(WrId.ofRecv(receives.add(wrId)), localAddress, length, lkey);
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        device.requireLength(length);
        recvChain.append(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        requireOpen();
        QpState state = known;
        if (state == QpState.RESET) {
            forgetChains();
            throw new VerbsException(
                    "post_recv on " + name + ": its state is RESET; move it to INIT first", Errno.EINVAL);
        }
        int count = recvChain.count();
        if (count == 0) {
            return;
        }
        int errno = device.ops().postRecv(qp.pointer(), recvChain.first(), badWr.address());
        recvChain.clear();
        if (errno != 0) {
            int posted = posted(recvChain.indexOf(takeBad()), count);
            receives.forget(count - posted);
            throw refused("post_recv", errno, posted, count);
        }
        if (state == QpState.ERR) {
            qp.flush();
        }
    }

    /** The work request that the device named as bad, if it did: written only when it refuses, so reset only then. */
    private long takeBad() {
        long bad = badWr.get(JAVA_LONG, 0);
        badWr.set(JAVA_LONG, 0, 0L);
        return bad;
    }

    /** How much of a refused chain the device has taken all the same: what lies before the bad one, all if it named none. */
    private static int posted(int indexOfBad, int count) {
        return indexOfBad >= 0 && indexOfBad < count ? indexOfBad : count;
    }

    /** A chain is posted whole or not at all; where the device took a part of it, the queue pair fails, which flushes that part. */
    private VerbsException refused(String operation, int errno, int posted, int count) {
        String hint = "the device took " + posted + " of " + count + " work requests";
        if (posted > 0) {
            try {
                modifyToErr();
                hint += "; the queue pair was moved to ERR to take them back";
            } catch (VerbsException e) {
                hint += "; moving it to ERR failed too: " + e.getMessage();
            }
        }
        return Failure.of(operation, name, errno, hint);
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
    }

    @Override
    public void close() {
        synchronized (device) {
            if (closed) {
                return;
            }
            closed = true;
            int errno = device.library().release(Release.DESTROY_QP, qp.pointer());
            if (errno != 0 && !Failure.isGone(errno)) {
                closed = false;
                throw Failure.of(
                        "destroy_qp", name, errno, "the device refused; it may be attached to a multicast group");
            }
            device.retireSequences(Math.max(sends.end(), receives.end()));
            sendQueue.detach(this);
            receiveQueue.detach(this);
            sendQueue.reservations().release(options.maxSendWr(), null);
            receiveQueue.reservations().release(ownReceives(), shared);
            sendQueue.users().remove(this);
            receiveQueue.users().remove(this);
            if (shared != null) {
                shared.users().remove(this);
            }
            domain.children().remove(this);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
