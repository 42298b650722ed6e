package io.farpage.verbs.soft;

import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.VerbsException;
import java.net.InetSocketAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state of a queue pair and the attributes that its transitions set (IBTA volume 1, section 10.3). Written under
 * its own lock, read without one by any thread.
 */
final class QpLifecycle {
    private static final int EINVAL = 22;

    private final QpInit init;
    private final PendingWork pending;
    private volatile QpState state = QpState.RESET;
    private volatile int generation;
    private volatile int psn;
    private volatile @Nullable QpEndpoint remote;
    private volatile Optional<Proofs> proofs = Optional.empty();
    private volatile int initiatorDepth = 1;
    private volatile boolean closed;

    /** What the two halves prove with: they run on different threads. */
    private record Proofs(Proof initiator, Proof responder) {}

    QpLifecycle(QpInit init, PendingWork pending) {
        this.init = init;
        this.pending = pending;
        this.psn = init.device().randomPsn();
    }

    QpState state() {
        return state;
    }

    boolean isClosed() {
        return closed;
    }

    boolean isResponding() {
        QpState now = state;
        return now == QpState.RTR || now == QpState.RTS;
    }

    /** How often the queue pair was reset: completions of an earlier generation are dropped. */
    int generation() {
        return generation;
    }

    /** PSN of the first request of this side. */
    int psn() {
        return psn;
    }

    /** READs of this side that may be in flight at once, as the endpoints agreed. */
    int initiatorDepth() {
        return initiatorDepth;
    }

    QpEndpoint endpoint() {
        return new QpEndpoint(init.qpn(), init.port(), init.device().gid(), psn);
    }

    // ---- transitions

    /** @throws VerbsException if the queue pair is closed or the transition is not legal */
    synchronized void moveTo(QpState to) {
        requireMove(to);
        state = to;
    }

    private void requireMove(QpState to) {
        if (closed) {
            throw new VerbsException(init + " is closed");
        }
        if (!state.canMoveTo(to)) {
            throw new IllegalTransitionException(init.toString(), state, to);
        }
    }

    /** See {@link io.farpage.verbs.QueuePair#requireProof}. */
    synchronized void requireProof(LinkSecret secret) {
        if (state != QpState.RESET && state != QpState.INIT) {
            throw new VerbsException("require a proof on " + init + ": the state is " + state
                    + "; it is required in RESET or INIT, before the peer is known");
        }
        proofs = Optional.of(new Proofs(new Proof(secret), new Proof(secret)));
    }

    /** Whether this side accepts no connection in the clear. */
    boolean requiresEncryption() {
        return init.device().options().encryption().required();
    }

    synchronized void moveToRtr(QpEndpoint peer, PathLimits limits) {
        if (state == QpState.INIT && (peer.gid().isZero() || peer.lid() == 0)) {
            throw new VerbsException(
                    "modify_qp(INIT→RTR) on " + init + ": EINVAL; remote endpoint (" + peer
                            + ") is not one of the soft provider: its gid must be an address and its lid a TCP port",
                    EINVAL);
        }
        if (state == QpState.INIT && requiresEncryption() && proofs.isEmpty()) {
            throw new VerbsException(
                    "modify_qp(INIT→RTR) on " + init
                            + ": EINVAL; its device encrypts every connection, which takes a secret: require a proof"
                            + " first",
                    EINVAL);
        }
        requireMove(QpState.RTR);
        // The listener reads the state first, so in RTR it finds these.
        remote = peer;
        initiatorDepth = Math.min(init.options().sizes().maxRdAtomic(), limits.maxRdAtomic());
        state = QpState.RTR;
    }

    /**
     * Moves to ERR, which is legal in every state, unless the queue pair is closed; polling then flushes what is
     * outstanding. Any thread.
     */
    void fail() {
        synchronized (this) {
            if (!closed) {
                state = QpState.ERR;
            }
        }
        pending.flushAll();
    }

    /** Returns whether this call closed it. */
    synchronized boolean close() {
        boolean first = !closed;
        closed = true;
        state = QpState.RESET;
        return first;
    }

    /**
     * Discards the peer and begins another generation, with a PSN of its own. Both connections have ended. A responder
     * that refused a request while the queue pair was being reset has moved it to ERR: that failure belongs to the
     * generation that ends.
     */
    synchronized void renew() {
        state = QpState.RESET;
        generation++;
        psn = init.device().randomPsn();
        remote = null;
        proofs = Optional.empty();
    }

    // ---- the handshake

    /** Where to connect to, in RTS. */
    InetSocketAddress peerAddress() {
        QpEndpoint peer = requirePeer();
        return new InetSocketAddress(peer.gid().toInetAddress(), peer.lid());
    }

    /** The hello to send to the peer, in RTS. */
    Hello hello() {
        QpEndpoint peer = requirePeer();
        QpOptions options = init.options();
        return new Hello(
                Wire.VERSION,
                init.qpn(),
                peer.qpn(),
                psn,
                peer.psn(),
                initiatorDepth,
                options.retries().rnrRetry(),
                options.path().mtu().code(),
                proofs.isPresent(),
                requiresEncryption());
    }

    private QpEndpoint requirePeer() {
        QpEndpoint peer = remote;
        if (peer == null) {
            throw new IllegalStateException(init + " is in RTS without a remote endpoint");
        }
        return peer;
    }

    /** Whether {@code hello} may be served now. Empty while the state does not permit a verdict. */
    Optional<HelloReply.Verdict> judge(Hello hello) {
        return switch (state) {
            case RESET, INIT -> Optional.empty();
            case ERR -> Optional.of(HelloReply.Verdict.NOT_READY);
            case RTR, RTS -> {
                QpEndpoint peer = remote;
                boolean known = peer != null
                        && peer.qpn() == hello.sourceQpn()
                        && peer.psn() == hello.sourcePsn()
                        && psn == hello.targetPsn();
                boolean proves = hello.proves() == proofs.isPresent();
                HelloReply.Verdict ofPeer = proves ? HelloReply.Verdict.ACCEPTED : HelloReply.Verdict.NOT_PROVEN;
                yield Optional.of(known ? ofPeer : HelloReply.Verdict.NOT_PEER);
            }
        };
    }

    Optional<Proof> initiatorProof() {
        return proofs.map(Proofs::initiator);
    }

    Optional<Proof> responderProof() {
        return proofs.map(Proofs::responder);
    }

    /** @param version that the caller has asked for */
    HelloReply acceptance(int version) {
        QpOptions options = init.options();
        return new HelloReply(
                version,
                HelloReply.Verdict.ACCEPTED,
                init.qpn(),
                options.sizes().maxRdAtomic(),
                options.retries().minRnrTimer(),
                options.path().mtu().code(),
                false);
    }
}
