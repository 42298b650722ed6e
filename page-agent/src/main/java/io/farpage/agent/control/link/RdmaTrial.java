package io.farpage.agent.control.link;

import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.agent.control.link.Handshake.Theirs;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.TrialOffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The trial of RDMA beside a link over TCP. Queue pairs that both nodes have verified replace those of the link. The
 * replaced queue pairs stay until the peer has switched, too, since the peer may still use them. Used by the links'
 * thread.
 */
final class RdmaTrial {
    private static final Logger log = LoggerFactory.getLogger(RdmaTrial.class);

    /** How long the replaced queue pairs wait for the peer to switch. */
    static final Duration RETIREMENT = Duration.ofSeconds(10);

    private final String peer;
    private final LinkContext context;
    private final SessionQueuePairs queuePairs;
    private final LinkHealth health;

    private State state = State.NONE;
    private long stateSince;
    private int switchedShards;
    private boolean unpublished;

    /** The state of the trial's queue pairs. */
    private enum State {
        NONE,
        /** They are being connected and verified. */
        PROVING,
        /** Both sides have verified them; the shards switch to them one after the other. */
        SWITCHING,
        /** They are the replaced queue pairs of the link, which the peer may still use. */
        RETIRED
    }

    RdmaTrial(String peer, LinkContext context, SessionQueuePairs queuePairs, LinkHealth health) {
        this.peer = peer;
        this.context = context;
        this.queuePairs = queuePairs;
        this.health = health;
    }

    /** Whether the shards are switching to the trial's queue pairs. */
    boolean isSwitching() {
        return state == State.SWITCHING;
    }

    /** Whether the peer has made the queue pairs of the trial its link, and this node has not yet. */
    boolean hasPeerSwitched(Endpoint offer) {
        return state == State.PROVING
                && offer.attempt().filter(a -> trial().isConnectedTo(a.value())).isPresent();
    }

    /** Whether the published endpoint is out of date. */
    boolean isUnpublished() {
        return unpublished && queuePairs.ofLink().isOfferedOrConnected();
    }

    /** The coordinator no longer knows the endpoint. */
    void publishAgain() {
        unpublished = true;
    }

    /** The endpoint is published. */
    void published() {
        unpublished = false;
    }

    /** Hands connected queue pairs to the shards, which verify the peer, once the peer's are connected, too. */
    void installConnected(PeerView view, Optional<Endpoint> offer) {
        Optional<Theirs> theirs = offer.flatMap(Endpoint::trial).map(this::theirs);
        if (state == State.PROVING && !unpublished && trial().isInstallable(theirs)) {
            queuePairs.installTrial(view);
        }
    }

    /** The part of the endpoint that offers the trial's queue pairs. */
    Optional<TrialOffer> toPublish() {
        return (state == State.PROVING || state == State.SWITCHING) && trial().isOfferedOrConnected()
                ? Optional.of(new TrialOffer(
                        new Attempt(trial().attempt()), trial().answers(), trial().isUp(), trial().entries()))
                : Optional.empty();
    }

    /**
     * Takes the next step.
     *
     * @param newAttempt for an offer of this node's
     * @param mayStart whether another trial may be started
     */
    void step(PeerView view, Optional<Endpoint> offer, long newAttempt, boolean mayStart) {
        switch (state) {
            case NONE -> {
                if (mayStart) {
                    begin(view, offer, newAttempt);
                }
            }
            case PROVING -> prove(view, offer);
            case SWITCHING -> {}
            case RETIRED -> retire(offer);
        }
    }

    private void begin(PeerView view, Optional<Endpoint> offer, long newAttempt) {
        LinkQueuePairs link = queuePairs.ofLink();
        if (!link.isUp() || !link.isOver(TransportKind.TCP) || !trial().isNothing() || !haveRdma(view)) {
            return;
        }
        Optional<TrialOffer> theirs = offer.flatMap(Endpoint::trial);
        Step step = Handshake.next(new Mine.Nothing(), theirs.map(this::theirs), trial().lastUsed(), false);
        if (step == Step.ANSWER) {
            setState(State.PROVING);
            trial().answer(
                            newAttempt,
                            devices(view),
                            theirs.orElseThrow().attempt().value(),
                            theirs.get().entries());
            unpublished = true;
        } else if (isWanted(view)) {
            log.info("link to {}: trying rdma beside tcp", peer);
            setState(State.PROVING);
            trial().offer(
                            newAttempt,
                            devices(view),
                            theirs.map(TrialOffer::entries).orElse(List.of()));
            unpublished = true;
        }
    }

    /** Whether the link could be over RDMA but is not, and the pause after the latest failure is over. */
    private boolean isWanted(PeerView view) {
        return view.node().transports().contains(TransportKind.RDMA) && health.mayUseRdma(context.now());
    }

    private boolean haveRdma(PeerView view) {
        return context.transports().preferred() == TransportKind.RDMA
                && !devices(view).isEmpty();
    }

    private LinkDevices devices(PeerView view) {
        return queuePairs.devices(Optional.of(view), device -> device.transport() == TransportKind.RDMA);
    }

    private LinkQueuePairs trial() {
        return queuePairs.ofTrial();
    }

    private Theirs theirs(TrialOffer offer) {
        return trial().theirs(offer.attempt().value(), offer.answers(), offer.entries());
    }

    private void prove(PeerView view, Optional<Endpoint> offer) {
        Optional<TrialOffer> theirs = offer.flatMap(Endpoint::trial);
        boolean peerSwitched = offer.filter(this::hasPeerSwitched).isPresent();
        if (trial().isUp() && (peerSwitched || theirs.filter(this::isProven).isPresent())) {
            setState(State.SWITCHING);
            switchedShards = 0;
            queuePairs.switchShards();
            return;
        }
        Duration timeout = context.options().trialTimeout();
        if (context.now() - stateSince > timeout.toNanos()) {
            fail("it was not proved within " + timeout);
            return;
        }
        if (!trial().isConnected()) {
            connect(view, theirs);
        } else if (!peerSwitched
                && theirs.filter(t -> trial().isConnectedTo(t.attempt().value()))
                        .isEmpty()) {
            fail("the peer ended its side");
        }
    }

    private void connect(PeerView view, Optional<TrialOffer> theirs) {
        Step step = Handshake.next(trial().mine(), theirs.map(this::theirs), trial().lastUsed(), false);
        if (step == Step.CONNECT) {
            trial().connectOffered(
                            devices(view),
                            theirs.orElseThrow().attempt().value(),
                            theirs.get().entries());
            unpublished = true;
        }
    }

    private boolean isProven(TrialOffer theirs) {
        return theirs.proven() && trial().isConnectedTo(theirs.attempt().value());
    }

    private void retire(Optional<Endpoint> offer) {
        boolean peerSwitched = offer.flatMap(Endpoint::attempt)
                .filter(a -> queuePairs.ofLink().isConnectedTo(a.value()))
                .isPresent();
        if (peerSwitched || context.now() - stateSince > RETIREMENT.toNanos() || !trial().isOfferedOrConnected()) {
            end("another transport has replaced it");
        }
    }

    /** A shard has verified the peer over one of the trial's queue pairs. */
    void verified() {
        if (trial().verified()) {
            unpublished = true;
        }
    }

    /** A shard has switched. When all have, the trial's queue pairs are those of the link. */
    void switched(long attempt) {
        if (state != State.SWITCHING
                || !trial().owns(attempt)
                || ++switchedShards < context.shards().size()) {
            return;
        }
        queuePairs.swap();
        setState(State.RETIRED);
        unpublished = true;
        health.moved();
        log.info("link to {} has moved to {}", peer, queuePairs.ofLink().transportInUse());
    }

    /**
     * A shard has released a queue pair of the trial.
     *
     * @return whether the link fails with the trial, because some shards may have switched
     */
    boolean released(ShardNotice.Released notice) {
        boolean expected = trial().mine() instanceof Mine.Leaving || state == State.RETIRED;
        trial().released(notice);
        if (state == State.SWITCHING) {
            return true;
        }
        if (expected) {
            end(notice.reason());
        } else {
            fail(notice.reason());
        }
        return false;
    }

    /** Ends the trial if one of its queue pairs is on a device that can no longer be used. */
    void leaveUnusableDevice(String reason) {
        if (trial().isOnUnusableDevice()) {
            queuePairFailed(reason);
        }
    }

    /** One of its queue pairs can no longer be used. */
    void queuePairFailed(String reason) {
        if (state == State.RETIRED) {
            end(reason);
        } else {
            fail(reason);
        }
    }

    /** Ends the trial after a failure, and begins a pause; the link continues. */
    void fail(String reason) {
        health.rdmaFailed(reason);
        log.warn("link to {} stays on tcp, rdma failed: {}; next try in {}", peer, reason, health.rdmaPause());
        end(reason);
        unpublished = true;
    }

    /** Ends the trial with the link. */
    void disconnect(String reason) {
        end(reason);
        unpublished = false;
    }

    private void end(String reason) {
        state = State.NONE;
        queuePairs.remove(trial(), reason);
    }

    private void setState(State next) {
        state = next;
        stateSince = context.now();
    }
}
