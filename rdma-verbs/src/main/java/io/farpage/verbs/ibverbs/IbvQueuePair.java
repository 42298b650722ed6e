package io.farpage.verbs.ibverbs;

import io.farpage.linux.Errno;
import io.farpage.verbs.Gid;
import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.WorkRequests.Opcode;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** {@code struct ibv_qp}, connected reliably. */
final class IbvQueuePair implements QueuePair {
    private final NativePd domain;
    private final NativeDevice device;
    private final IbvQueues queues;
    private final QpOptions options;
    private final NativeQp qp;
    private final String name;
    private final int lid;
    private final Gid gid;
    private final IbvSendQueue sends;
    private final IbvReceiveQueue receives;
    private final Outstanding outstanding;
    private int psn = randomPsn();
    /** READs in flight at once, as the endpoints agreed. */
    private int initiatorDepth = 1;

    private volatile boolean closed;

    IbvQueuePair(NativePd domain, IbvQueues queues, QpOptions options) {
        this.domain = domain;
        this.device = domain.device();
        this.queues = queues;
        this.options = options;
        PortAttributes port = device.queryPort();
        if (port.gid().isZero()) {
            throw new VerbsException("create_qp on " + device + ": the port has no GID now (index " + port.gidIndex()
                    + " is empty); give the network interface its address back");
        }
        this.lid = port.lid();
        this.gid = port.gid();
        queues.reserve(options);
        try {
            this.qp = NativeQp.create(domain, queues, options);
        } catch (VerbsException e) {
            queues.release(options);
            throw e;
        }
        this.name = qp.toString();
        this.sends = new IbvSendQueue(qp, options);
        this.receives = new IbvReceiveQueue(qp, options, queues.shared());
        this.outstanding = new Outstanding(name, qp.number(), sends.ring(), receives.ring());
        queues.add(outstanding);
    }

    private static int randomPsn() {
        return ThreadLocalRandom.current().nextInt(QpEndpoint.MAX_24_BIT + 1);
    }

    @Override
    public QpEndpoint endpoint() {
        return new QpEndpoint(qp.number(), lid, gid, psn);
    }

    @Override
    public int qpn() {
        return qp.number();
    }

    /** Queries the device in the states that it leaves by itself; too slow to call for every work request. */
    @Override
    public QpState state() {
        requireOpen();
        QpState known = outstanding.state();
        if (known == QpState.RTR || known == QpState.RTS) {
            outstanding.setState(qp.queryState());
        }
        return outstanding.state();
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
    public void requireProof(LinkSecret secret) {
        QpState now = state();
        if (now != QpState.RESET && now != QpState.INIT) {
            throw new VerbsException("require a proof on " + this + ": the state is " + now
                    + "; it is required in RESET or INIT, before the peer is known");
        }
    }

    @Override
    public void modifyToRtr(QpEndpoint remote, PathLimits peer) {
        modify(QpState.RTR, () -> {
            qp.toRtr(options, device.queryPort(), remote, peer.mtu());
            initiatorDepth = Math.min(options.sizes().maxRdAtomic(), peer.maxRdAtomic());
        });
    }

    @Override
    public void modifyToRts() {
        modify(QpState.RTS, () -> qp.toRts(options, psn, initiatorDepth));
    }

    @Override
    public void modifyToErr() {
        boolean fresh = outstanding.state() == QpState.RESET;
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
        // A completion from before the reset carries a number that is no longer outstanding, so it is dropped.
        sends.ring().clear();
        receives.ring().clear();
        psn = randomPsn();
    }

    private void modify(QpState next, Runnable transition) {
        QpState from = state();
        if (!from.canMoveTo(next)) {
            throw new IllegalTransitionException(name, from, next);
        }
        if (next != QpState.ERR) {
            discardPrepared();
        }
        try {
            transition.run();
            outstanding.setState(next);
        } catch (VerbsException e) {
            outstanding.setState(qp.queryState());
            throw e;
        }
    }

    private void discardPrepared() {
        sends.discard();
        receives.discard();
    }

    @Override
    public void prepareRead(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        sends.prepare(Opcode.RDMA_READ, wrId, localAddress, length, lkey, flags).setRemote(remoteAddress, rkey);
    }

    @Override
    public void prepareWrite(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        sends.prepare(Opcode.RDMA_WRITE, wrId, localAddress, length, lkey, flags)
                .setRemote(remoteAddress, rkey);
    }

    @Override
    public void prepareSend(long wrId, long localAddress, int length, int lkey, int flags) {
        sends.prepare(Opcode.SEND, wrId, localAddress, length, lkey, flags);
    }

    @Override
    public void appendSge(long localAddress, int length, int lkey) {
        sends.append(localAddress, length, lkey);
    }

    @Override
    public void postSend() {
        requireOpen();
        QpState state = outstanding.state();
        if (state != QpState.RTS && state != QpState.ERR) {
            discardPrepared();
            throw new VerbsException(
                    "post_send on " + name + ": its state is " + state + "; move it to RTS first", Errno.EINVAL);
        }
        if (sends.isPrepared()) {
            afterPost("post_send", state, sends.post());
        }
    }

    @Override
    public int sendQueueSpace() {
        return sends.ring().space();
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        receives.prepare(wrId, localAddress, length, lkey);
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        receives.append(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        requireOpen();
        QpState state = outstanding.state();
        if (state == QpState.RESET) {
            discardPrepared();
            throw new VerbsException(
                    "post_recv on " + name + ": its state is RESET; move it to INIT first", Errno.EINVAL);
        }
        if (receives.isPrepared()) {
            afterPost("post_recv", state, receives.post());
        }
    }

    /**
     * A chain is posted whole or not at all: if the device accepted a part of it, the queue pair fails, which flushes
     * that part.
     */
    private void afterPost(String operation, QpState state, @Nullable Refusal refusal) {
        if (refusal == null) {
            if (state == QpState.ERR) {
                qp.flush();
            }
            return;
        }
        String hint = refusal.toString();
        if (refusal.posted() > 0) {
            try {
                modifyToErr();
                hint += "; the queue pair was moved to ERR, which flushes them";
            } catch (VerbsException e) {
                hint += "; moving it to ERR failed too: " + e.getMessage();
            }
        }
        throw Failure.of(operation, name, refusal.errno(), hint);
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
            device.retireSequences(Math.max(sends.ring().end(), receives.ring().end()));
            queues.remove(outstanding);
            queues.release(options);
            domain.children().remove(this);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
