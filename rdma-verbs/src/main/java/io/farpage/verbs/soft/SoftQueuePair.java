package io.farpage.verbs.soft;

import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WorkCompletion;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A reliable-connected queue pair: the initiator, the responder and the receives, and the transitions that concern all
 * of them.
 *
 * <p>The initiator's monitor is held over a transition, so that no request is sent meanwhile.
 */
final class SoftQueuePair implements QueuePair {
    private final QpInit init;
    private final Parents parents;
    private final PendingWork pending;
    private final QpLifecycle lifecycle;
    private final ReceiveSide receives;
    private final ResponderSlot responders;
    private final Initiator initiator;

    /** The objects that a queue pair belongs to. */
    interface Parents {
        /** Connections of its peer can be served from now on. */
        void onReadyToReceive();

        /** It is in RESET for ever. It still has memory, which {@link Initiator#close} gives back. */
        void onClose(SoftQueuePair queuePair);
    }

    SoftQueuePair(QpInit init, Parents parents) {
        this.init = init;
        this.parents = parents;
        this.pending = new PendingWork(init.queues());
        this.lifecycle = new QpLifecycle(init, pending);
        this.receives = new ReceiveSide(init, lifecycle, pending);
        this.responders = new ResponderSlot(init, lifecycle, receives);
        this.initiator = new Initiator(init, lifecycle, pending, responders);
    }

    // ---- for the objects that the queue pair belongs to

    QpQueues queues() {
        return init.queues();
    }

    PendingWork pending() {
        return pending;
    }

    ReceiveQueue receives() {
        return receives.queue();
    }

    Initiator initiator() {
        return initiator;
    }

    /** See {@link QpLifecycle#judge}. */
    Optional<HelloReply.Verdict> judge(Hello hello) {
        return lifecycle.judge(hello);
    }

    /** What the listener's thread proves and checks with; empty if this queue pair requires no proof. */
    Optional<Proof> responderProof() {
        return lifecycle.responderProof();
    }

    /** See {@link QpLifecycle#requiresEncryption}. */
    boolean requiresEncryption() {
        return lifecycle.requiresEncryption();
    }

    HelloReply acceptance(int version) {
        return lifecycle.acceptance(version);
    }

    /** See {@link ResponderSlot#accept}. */
    HelloReply.Verdict accept(Caller caller, Runnable beforeStart) {
        return responders.accept(caller, beforeStart);
    }

    /** See {@link ResponderSlot#present}. */
    @Nullable
    Responder responder() {
        return responders.present();
    }

    /** See {@link ReceiveSide#flush}. */
    int flushReceives(WorkCompletion[] into, int count) {
        return responders.isServing() ? count : receives.flush(into, count);
    }

    /**
     * Waits until no region that was found in the table before this call is in use. See {@link Quiescence}.
     *
     * @return whether that is so; if not, the responder may still use memory
     */
    boolean awaitQuiescence(long deadline) {
        boolean quiet = responders.awaitQuiescence(deadline);
        initiator.regionsChanged();
        return quiet;
    }

    // ---- states

    @Override
    public QpEndpoint endpoint() {
        return lifecycle.endpoint();
    }

    @Override
    public int qpn() {
        return init.qpn();
    }

    @Override
    public QpState state() {
        return lifecycle.state();
    }

    @Override
    public QpOptions options() {
        return init.options();
    }

    @Override
    public void modifyToInit() {
        lifecycle.moveTo(QpState.INIT);
    }

    @Override
    public void requireProof(LinkSecret secret) {
        lifecycle.requireProof(secret);
    }

    @Override
    public void modifyToRtr(QpEndpoint peer, PathLimits limits) {
        lifecycle.moveToRtr(peer, limits);
        parents.onReadyToReceive();
    }

    @Override
    public void modifyToRts() {
        synchronized (initiator) {
            lifecycle.moveTo(QpState.RTS);
            initiator.connect();
        }
    }

    @Override
    public void modifyToErr() {
        synchronized (initiator) {
            lifecycle.moveTo(QpState.ERR);
            initiator.enterError();
        }
    }

    @Override
    public void modifyToReset() {
        synchronized (initiator) {
            lifecycle.moveTo(QpState.RESET);
            clear();
        }
    }

    /** Ends both connections and discards all work requests. Holding the initiator's monitor. */
    private void clear() {
        initiator.disconnect();
        responders.end();
        lifecycle.renew();
        pending.clear();
        initiator.reset();
        receives.clear();
    }

    @Override
    public void close() {
        synchronized (initiator) {
            if (!lifecycle.close()) {
                return;
            }
            clear();
        }
        parents.onClose(this);
    }

    // ---- sends

    @Override
    public void prepareRead(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        initiator.sends().prepare(wrId, Wire.READ, localAddress, length, lkey, remoteAddress, rkey, flags);
    }

    @Override
    public void prepareWrite(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        initiator.sends().prepare(wrId, Wire.WRITE, localAddress, length, lkey, remoteAddress, rkey, flags);
    }

    @Override
    public void prepareSend(long wrId, long localAddress, int length, int lkey, int flags) {
        initiator.sends().prepare(wrId, Wire.SEND, localAddress, length, lkey, 0, 0, flags);
    }

    @Override
    public void appendSge(long localAddress, int length, int lkey) {
        initiator.sends().append(localAddress, length, lkey);
    }

    @Override
    public void postSend() {
        initiator.post();
    }

    @Override
    public int sendQueueSpace() {
        return initiator.sends().space();
    }

    // ---- receives

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        receives.requireOwn().prepare(wrId, localAddress, length, lkey, "max_recv_wr");
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        receives.requireOwn().append(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        receives.post();
    }

    @Override
    public String toString() {
        return init.toString();
    }
}
