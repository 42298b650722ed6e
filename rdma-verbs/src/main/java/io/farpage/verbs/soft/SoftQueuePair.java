package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A reliable-connected queue pair.
 *
 * <p>{@code lock} guards the requester's half: send queue, initiator, connection. It is hardly ever contended; deregistration and close take it to
 * wait for a poll in progress. {@code responderLock} guards the responder's half and is held for moments only. The state changes under {@code stateLock}
 * and is read without a lock.
 */
final class SoftQueuePair implements QueuePair {
    private static final int EINVAL = 22;
    private static final long JOIN_NANOS = 5_000_000_000L;

    private final SoftProtectionDomain domain;
    private final SoftDevice device;
    private final SoftCompletionQueue sendCompletions;
    private final SoftCompletionQueue receiveCompletions;
    private final ReceiveQueue receives;
    private final Optional<SoftSharedReceiveQueue> shared;
    private final QpOptions options;
    private final int qpn;

    private final Object lock = new Object();
    private final SendQueue sends;
    private final InitiatorConnection connection;
    private final Initiator initiator;

    private final Object stateLock = new Object();
    private volatile QpState state = QpState.RESET;
    private volatile int generation;
    private volatile int psn;
    private volatile @Nullable QpEndpoint remote;
    private volatile int initiatorDepth = 1;
    private volatile boolean closed;

    private final Object responderLock = new Object();
    private @Nullable Responder responder;
    private volatile boolean serving;

    /** Whether polling has sends to move or to flush. */
    private volatile boolean sendWork;
    /** Whether polling has receives to flush. */
    private volatile boolean flushWork;

    SoftQueuePair(
            SoftProtectionDomain domain,
            SoftCompletionQueue sendCompletions,
            SoftCompletionQueue receiveCompletions,
            Optional<SoftSharedReceiveQueue> shared,
            QpOptions options,
            int qpn) {
        this.domain = domain;
        this.device = domain.device();
        this.sendCompletions = sendCompletions;
        this.receiveCompletions = receiveCompletions;
        this.shared = shared;
        this.options = options;
        this.qpn = qpn;
        this.psn = device.randomPsn();
        this.receives = shared.map(SoftSharedReceiveQueue::queue)
                .orElseGet(() -> new ReceiveQueue(toString(), options.maxRecvWr(), options.maxSge()));
        this.sends = new SendQueue(toString(), options.maxSendWr(), options.maxSge(), options.maxInlineData());
        Errno errno = Errno.create();
        this.connection = new InitiatorConnection(this, sendCompletions.channel(), errno);
        this.initiator = new Initiator(this, sends, connection, errno);
        initiator.reset(psn);
    }

    // ---- for the parts of this queue pair

    SoftDevice device() {
        return device;
    }

    RegionTable regions() {
        return domain.regions();
    }

    ReceiveQueue receives() {
        return receives;
    }

    Optional<SoftSharedReceiveQueue> shared() {
        return shared;
    }

    SoftCompletionQueue sendCompletions() {
        return sendCompletions;
    }

    SoftCompletionQueue receiveCompletions() {
        return receiveCompletions;
    }

    int generation() {
        return generation;
    }

    /** READs and atomics of this side that may be in flight at once, as the endpoints agreed. */
    int initiatorDepth() {
        return initiatorDepth;
    }

    boolean isResponding() {
        QpState now = state;
        return now == QpState.RTR || now == QpState.RTS;
    }

    boolean isSendIdle() {
        return !sendWork;
    }

    // ---- states

    @Override
    public QpEndpoint endpoint() {
        return new QpEndpoint(qpn, device.port(), device.gid(), psn);
    }

    @Override
    public int qpn() {
        return qpn;
    }

    @Override
    public QpState state() {
        return state;
    }

    @Override
    public QpOptions options() {
        return options;
    }

    private void move(QpState to) {
        synchronized (stateLock) {
            if (closed) {
                throw new VerbsException(this + " is closed");
            }
            if (!state.canMoveTo(to)) {
                throw new IllegalTransitionException(toString(), state, to);
            }
            state = to;
        }
    }

    @Override
    public void modifyToInit() {
        move(QpState.INIT);
    }

    @Override
    public void modifyToRtr(QpEndpoint peer, PathLimits limits) {
        synchronized (stateLock) {
            if (state == QpState.INIT && (peer.gid().isZero() || peer.lid() == 0)) {
                throw new VerbsException(
                        "modify_qp(INIT→RTR) on " + this + ": EINVAL; remote endpoint (" + peer
                                + ") is not one of the soft provider: its gid must be an address and its lid a TCP port",
                        EINVAL);
            }
            QpEndpoint before = remote;
            remote = peer;
            try {
                move(QpState.RTR);
            } catch (VerbsException e) {
                remote = before;
                throw e;
            }
            initiatorDepth = Math.min(options.maxRdAtomic(), limits.maxRdAtomic());
        }
        device.peerMayBeWaiting();
    }

    @Override
    public void modifyToRts() {
        synchronized (lock) {
            move(QpState.RTS);
            QpEndpoint peer = remote;
            if (peer == null) {
                throw new IllegalStateException(this + " is in RTS without a remote endpoint");
            }
            connection.open(
                    new InetSocketAddress(peer.gid().toInetAddress(), peer.lid()),
                    new Hello(
                            qpn,
                            peer.qpn(),
                            psn,
                            peer.psn(),
                            initiatorDepth,
                            options.rnrRetry(),
                            options.mtu().code()));
            connection.advance();
        }
    }

    @Override
    public void modifyToErr() {
        synchronized (lock) {
            move(QpState.ERR);
            enterError();
        }
    }

    /** Moves the queue pair to ERR. Holding {@code lock}. */
    void enterError() {
        connection.close();
        becomeError();
        synchronized (responderLock) {
            if (responder != null) {
                responder.stop();
            }
        }
    }

    private void becomeError() {
        synchronized (stateLock) {
            if (!closed) {
                state = QpState.ERR;
            }
        }
        sendWork = true;
        flushWork = true;
        sendCompletions.wake();
        receiveCompletions.wake();
    }

    @Override
    public void modifyToReset() {
        synchronized (lock) {
            move(QpState.RESET);
            clear();
        }
    }

    /** Ends both connections and forgets all work requests. Holding {@code lock}. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without
    private void clear() {
        connection.close();
        stopResponder();
        generation++;
        sendWork = false;
        flushWork = false;
        psn = device.randomPsn();
        remote = null;
        initiator.reset(psn);
        if (shared.isEmpty()) {
            receives.clear();
        }
    }

    private void stopResponder() {
        Responder ending;
        synchronized (responderLock) {
            ending = responder;
        }
        if (ending != null) {
            ending.stop();
            if (!ending.join(JOIN_NANOS)) {
                throw new VerbsException(this + ": its responder did not end within 5 s");
            }
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            synchronized (stateLock) {
                if (closed) {
                    return;
                }
                closed = true;
                state = QpState.RESET;
            }
            clear();
        }
        sendCompletions.detach(this);
        receiveCompletions.detach(this);
        device.forget(this);
        domain.removeQueuePair(this);
    }

    // ---- the responder's half

    /** Whether {@code hello} may be served now. Empty if it is too early to tell. */
    Optional<HelloReply.Verdict> judge(Hello hello) {
        QpEndpoint peer = remote;
        return switch (state) {
            case RESET, INIT -> Optional.empty();
            case ERR -> Optional.of(HelloReply.Verdict.NOT_READY);
            case RTR, RTS -> {
                boolean known = peer != null
                        && peer.qpn() == hello.sourceQpn()
                        && peer.psn() == hello.sourcePsn()
                        && psn == hello.targetPsn();
                yield Optional.of(known ? HelloReply.Verdict.ACCEPTED : HelloReply.Verdict.NOT_PEER);
            }
        };
    }

    /**
     * Gives the connection that {@code hello} came on to a new responder, if {@link #judge} still allows it. If not, or if it throws, the caller keeps
     * the connection.
     */
    HelloReply.Verdict accept(Hello hello, int fd, Runnable beforeStart) {
        synchronized (responderLock) {
            HelloReply.Verdict verdict = judge(hello).orElse(HelloReply.Verdict.NOT_READY);
            if (verdict == HelloReply.Verdict.ACCEPTED && responder != null) {
                verdict = HelloReply.Verdict.BUSY;
            }
            if (verdict == HelloReply.Verdict.ACCEPTED) {
                beforeStart.run();
                Responder next = new Responder(this, fd, hello, device.options(), device.nextResponderCpu());
                responder = next;
                serving = true;
                try {
                    next.start();
                } catch (Throwable e) { // the system has no thread left: the connection stays the caller's
                    responder = null;
                    serving = false;
                    throw e;
                }
            }
            return verdict;
        }
    }

    HelloReply greeting() {
        return new HelloReply(
                HelloReply.Verdict.ACCEPTED,
                qpn,
                options.maxRdAtomic(),
                options.minRnrTimer(),
                options.mtu().code());
    }

    /** The responder refused a request: moves the queue pair to ERR. On the responder's thread. */
    void responderFailed(AsyncEvent.Type type) {
        becomeError();
        device.raise(new AsyncEvent(type, qpn));
    }

    /** The responder uses no receive any more. On the responder's thread. */
    void responderDone(Responder which) {
        synchronized (responderLock) {
            if (responder == which) {
                serving = false;
            }
        }
        if (state == QpState.ERR) {
            flushWork = true;
            receiveCompletions.wake();
        }
    }

    /** The responder's thread ends and its connection is closed. On the responder's thread. */
    void responderEnded(Responder which) {
        synchronized (responderLock) {
            if (responder == which) {
                responder = null;
            }
        }
    }

    void completeReceive(int slot, WcStatus status, WcOpcode opcode, int length, int immediate, boolean hasImmediate) {
        boolean added = receiveCompletions
                .receives()
                .add(this, generation, slot, receives.wrId(slot), status, opcode, length, immediate, hasImmediate);
        if (!added) {
            device.raise(new AsyncEvent(AsyncEvent.Type.CQ_ERR, 0));
        }
        receiveCompletions.wake();
    }

    /**
     * Waits until no region that was found in the table before this call is in use. See {@link Quiescence}.
     *
     * @return whether that is so; if not, the responder may still use memory
     */
    boolean awaitQuiescence(long deadline) {
        boolean quiet = true;
        Responder serves;
        synchronized (responderLock) {
            serves = responder;
        }
        if (serves != null && !serves.quiescence().awaitPassed(deadline)) {
            // The responder waits for a peer that sends nothing: end that connection.
            serves.stop();
            quiet = serves.join(JOIN_NANOS);
        }
        synchronized (lock) {
            // The last holder of the lock has released the region that it found; the next one searches the table again.
            initiator.regionsChanged();
        }
        return quiet;
    }

    // ---- polling

    boolean hasSendWork() {
        return sendWork;
    }

    boolean hasFlushWork() {
        return flushWork;
    }

    int pollSends(WorkCompletion[] into, int count, boolean resting) {
        synchronized (lock) {
            if (state == QpState.ERR) {
                connection.close();
            }
            int n = initiator.poll(into, count, resting);
            sendWork = !sends.isIdle();
            return n;
        }
    }

    int flushReceives(WorkCompletion[] into, int count) {
        if (serving || !receiveCompletions.receives().isEmpty()) {
            return count;
        }
        flushWork = false;
        if (state != QpState.ERR || shared.isPresent()) {
            return count;
        }
        int n = count;
        while (n < into.length) {
            int slot = receives.take();
            if (slot == ReceiveQueue.NONE) {
                return n;
            }
            into[n++].set(receives.wrId(slot), WcStatus.WR_FLUSH_ERR, WcOpcode.RECV, 0, 0, 0, false, qpn);
            receives.release(slot);
        }
        flushWork = true;
        return n;
    }

    /** Makes the channel wake when this queue pair's sends can continue. */
    void arm() {
        if (sendWork) {
            synchronized (lock) {
                connection.arm(initiator.isBlocked());
            }
        }
    }

    /** When polling is due even if nothing comes (nanoTime); not after {@code latest}. */
    long due(long now, long latest) {
        if (!sendWork) {
            return latest;
        }
        synchronized (lock) {
            long due = initiator.due(now);
            return due - latest < 0 ? due : latest;
        }
    }

    /** See {@link Initiator#sleepInReceive}. */
    boolean sleepInReceive(long now) {
        synchronized (lock) {
            return initiator.sleepInReceive(now);
        }
    }

    /** The channel woke for this queue pair's connection. See {@link InitiatorConnection#forgetIfIdle}. */
    boolean forgetIfIdle() {
        synchronized (lock) {
            return connection.forgetIfIdle();
        }
    }

    // ---- sends

    @Override
    public void prepareRead(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        sends.prepare(wrId, Wire.READ, localAddress, length, lkey, remoteAddress, rkey, 0, flags);
    }

    @Override
    public void prepareWrite(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        sends.prepare(wrId, Wire.WRITE, localAddress, length, lkey, remoteAddress, rkey, 0, flags);
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
        sends.prepare(wrId, Wire.WRITE_WITH_IMM, localAddress, length, lkey, remoteAddress, rkey, immediate, flags);
    }

    @Override
    public void prepareSend(long wrId, long localAddress, int length, int lkey, int flags) {
        sends.prepare(wrId, Wire.SEND, localAddress, length, lkey, 0, 0, 0, flags);
    }

    @Override
    public void prepareSendWithImm(long wrId, long localAddress, int length, int lkey, int immediate, int flags) {
        sends.prepare(wrId, Wire.SEND_WITH_IMM, localAddress, length, lkey, 0, 0, immediate, flags);
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
        sends.prepareAtomic(
                wrId, Wire.COMPARE_AND_SWAP, localAddress, lkey, remoteAddress, rkey, expected, desired, flags);
    }

    @Override
    public void prepareFetchAndAdd(
            long wrId, long localAddress, int lkey, long remoteAddress, int rkey, long addend, int flags) {
        sends.prepareAtomic(wrId, Wire.FETCH_AND_ADD, localAddress, lkey, remoteAddress, rkey, addend, 0, flags);
    }

    @Override
    public void appendSge(long localAddress, int length, int lkey) {
        sends.append(localAddress, length, lkey);
    }

    @Override
    public void postSend() {
        synchronized (lock) {
            QpState now = state;
            if (closed || (now != QpState.RTS && now != QpState.ERR)) {
                sends.prepared = sends.posted;
                throw new VerbsException(
                        "post_send on " + this + ": EINVAL; it is " + (closed ? "closed" : "in " + now)
                                + ", sends need RTS",
                        EINVAL);
            }
            sends.posted = sends.prepared;
            sendWork = true;
            sendCompletions.posted();
            initiator.push();
        }
    }

    @Override
    public int sendQueueSpace() {
        return sends.space();
    }

    // ---- receives

    private void requireOwnReceives() {
        if (shared.isPresent()) {
            throw new VerbsException(
                    "post_recv on " + this + ": EINVAL; it takes its receives from " + shared.get(), EINVAL);
        }
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        requireOwnReceives();
        receives.prepare(wrId, localAddress, length, lkey, "max_recv_wr");
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        requireOwnReceives();
        receives.append(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        requireOwnReceives();
        if (closed || state == QpState.RESET) {
            receives.unprepare();
            throw new VerbsException(
                    "post_recv on " + this + ": EINVAL; it is " + (closed ? "closed" : "in RESET")
                            + ", receives need INIT or later",
                    EINVAL);
        }
        receives.post();
        if (state == QpState.ERR) {
            flushWork = true;
            receiveCompletions.wake();
        }
    }

    @Override
    public String toString() {
        return "qp 0x%06x of %s".formatted(qpn, device.name());
    }
}
