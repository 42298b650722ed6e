package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.agent.control.link.Handshake.Theirs;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.TrialOffer;
import io.farpage.verbs.LinkSecret;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane's side of the link to one peer, with the {@link RdmaTrial} beside it. Used by the links' thread,
 * except for {@link #links}, {@link #status} and {@link #grant}.
 */
final class LinkSession {
    private static final Logger log = LoggerFactory.getLogger(LinkSession.class);

    private final String peer;
    private final LinkContext context;
    private final SessionQueuePairs queuePairs;
    private final LinkHealth health;
    private final RdmaTrial trial;
    private long peerIncarnation;
    private Optional<PeerView> view = Optional.empty();
    private volatile boolean withoutKeys;

    LinkSession(String peer, LinkContext context) {
        this.peer = peer;
        this.context = context;
        this.queuePairs = new SessionQueuePairs(peer, context);
        this.health = new LinkHealth(context);
        this.trial = new RdmaTrial(peer, context, queuePairs, health);
    }

    String peer() {
        return peer;
    }

    /** The shards' sides of the link, by the number of the shard. */
    List<PeerLink> links() {
        return queuePairs.links();
    }

    private LinkQueuePairs link() {
        return queuePairs.ofLink();
    }

    /** Whether there are no queue pairs, of the link or of a trial. */
    boolean isIdle() {
        return queuePairs.isEmpty();
    }

    /** Whether queue pairs of a trial, or replaced ones, exist. */
    boolean hasTrial() {
        return !queuePairs.ofTrial().isNothing();
    }

    /** Whether the pause after a failure is over. */
    boolean mayStart(long now) {
        return health.mayStart(now);
    }

    /** Whether the queue pairs were made for another incarnation of the peer. */
    boolean isForAnother(long incarnation) {
        return link().isOfferedOrConnected() && peerIncarnation != incarnation;
    }

    /** Whether there are queue pairs with an incarnation of the peer, those that are being destroyed included. */
    boolean hasQueuePairs(long incarnation) {
        return !isIdle() && peerIncarnation == incarnation;
    }

    /** Whether a queue pair is on {@code device}. */
    boolean uses(OpenDevice device) {
        return queuePairs.uses(device);
    }

    /** The devices have changed: RDMA may be tried at once. */
    void devicesChanged() {
        queuePairs.forgetFailures();
        health.devicesChanged();
    }

    /** The devices that the link may use, best first. */
    private LinkDevices devices() {
        boolean rdma = health.mayUseRdma(context.now());
        return queuePairs.devices(view, device -> device.transport() == TransportKind.TCP || rdma);
    }

    private Optional<String> lacksKeys(int peerRail) {
        return view.flatMap(known -> queuePairs.lacksKeys(known, peerRail));
    }

    /**
     * Whether the peer has granted ranges without a key for a device, which the link therefore does not use. Any
     * thread.
     */
    boolean isWithoutKeys() {
        return withoutKeys;
    }

    /** The next step of the link, given the peer's offer. */
    Step next(Optional<Endpoint> offer, boolean eager) {
        // While one side has switched to the queue pairs of the trial, offers of the link mean nothing.
        if (trial.isSwitching() || offer.filter(trial::hasPeerSwitched).isPresent()) {
            return Step.WAIT;
        }
        return Handshake.next(link().mine(), offer.flatMap(this::theirs), link().lastUsed(), eager);
    }

    private Optional<Theirs> theirs(Endpoint offer) {
        // A peer that has not switched yet publishes the queue pairs that this node uses already as its trial.
        Optional<TrialOffer> used =
                offer.trial().filter(t -> link().isConnectedTo(t.attempt().value()));
        return used.isPresent()
                ? used.map(t -> link().theirs(t.attempt().value(), t.answers(), t.entries()))
                : offer.attempt().map(a -> link().theirs(a.value(), offer.answers(), offer.entries()));
    }

    void offer(long attempt, PeerView now, LinkSecret secret, Optional<Endpoint> theirs) {
        knows(now);
        link().secure(secret);
        create(() ->
                link().offer(attempt, devices(), theirs.map(Endpoint::entries).orElse(List.of())));
    }

    void answer(long attempt, PeerView now, LinkSecret secret, Endpoint theirs) {
        knows(now);
        link().secure(secret);
        create(() ->
                link().answer(attempt, devices(), theirs.attempt().orElseThrow().value(), theirs.entries()));
    }

    private void knows(PeerView now) {
        if (peerIncarnation != now.incarnation()) {
            queuePairs.forgetFailures();
        }
        view = Optional.of(now);
        peerIncarnation = now.incarnation();
    }

    void connectOffered(Endpoint theirs) {
        create(() ->
                link().connectOffered(devices(), theirs.attempt().orElseThrow().value(), theirs.entries()));
    }

    /**
     * Queue pairs that RDMA devices do not create count as a failure of RDMA, whether or not another device replaces
     * them.
     */
    private void create(Runnable step) {
        try {
            step.run();
        } finally {
            link().rdmaFailure().ifPresent(health::rdmaFailed);
        }
    }

    /**
     * Hands connected queue pairs of the link, whose endpoint is published, to the shards, once the peer's are
     * connected, too.
     */
    void installConnected(PeerView view, Optional<Endpoint> offer) {
        Duration limit = context.options().trialTimeout();
        if (link().isInstallable(offer.flatMap(this::theirs))) {
            queuePairs.installLink(view);
        } else if (link().isPeerLate(limit)) {
            failed("the peer has not connected its queue pairs within " + limit);
        }
    }

    /** The same for the trial beside it. */
    void installTrial(PeerView view, Optional<Endpoint> offer) {
        trial.installConnected(view, offer);
    }

    /** Whether the published endpoint is out of date. */
    boolean isUnpublished() {
        return trial.isUnpublished();
    }

    /**
     * The coordinator was started again, and does not know what was published: it is published again with the next
     * step.
     */
    void publishAgain() {
        trial.publishAgain();
    }

    /** The endpoint is published. */
    void published() {
        trial.published();
    }

    /** The endpoint to publish: the link's queue pairs and the trial's. */
    EndpointRequest toPublish(Incarnation own) {
        return new EndpointRequest(
                own,
                new Incarnation(peerIncarnation),
                Optional.of(new Attempt(link().attempt())),
                link().answers(),
                link().entries(),
                trial.toPublish());
    }

    /** See {@link RdmaTrial#step}. */
    void stepTrial(PeerView now, Optional<Endpoint> offer, long newAttempt, boolean mayStart) {
        view = Optional.of(now);
        trial.step(now, offer, newAttempt, mayStart);
    }

    /** Ends the trial after a failure, and begins a pause; the link continues. */
    void failTrial(String reason) {
        trial.fail(reason);
    }

    /** Handles a notice of a shard. */
    void handle(ShardNotice notice) {
        switch (notice) {
            case ShardNotice.Up(PeerLink _, long attempt) -> verified(attempt);
            case ShardNotice.Switched(PeerLink _, PeerLink _, long attempt) -> trial.switched(attempt);
            case ShardNotice.Released released -> released(released);
            case ShardNotice.RailFailed _, ShardNotice.GrantRefused _ -> {}
        }
    }

    private void verified(long attempt) {
        if (link().owns(attempt) && link().verified()) {
            health.cameUp();
            log.info("link to {} is up over {}", peer, link().transportInUse());
        } else if (queuePairs.ofTrial().owns(attempt)) {
            trial.verified();
        }
    }

    private void released(ShardNotice.Released notice) {
        if (queuePairs.ofTrial().owns(notice.attempt())) {
            if (trial.released(notice)) {
                failed(notice.reason());
            }
        } else if (link().owns(notice.attempt())) {
            boolean expected = link().mine() instanceof Mine.Leaving;
            boolean overRdma = link().isOver(TransportKind.RDMA);
            link().released(notice);
            if (!expected) {
                log.warn("link to {} failed over {}: {}", peer, link().transportInUse(), notice.reason());
                health.broke(notice.reason(), notice.refused(), overRdma);
                disconnect(notice.reason());
            }
        }
    }

    /** Removes all queue pairs; {@link #isIdle} once they are destroyed. */
    void disconnect(String reason) {
        trial.disconnect(reason);
        queuePairs.remove(link(), reason);
        health.wentDown();
    }

    /** As {@link #disconnect}, because of a failure: pauses before the next attempt. */
    void failed(String reason) {
        log.warn("link to {} cannot be made: {}", peer, reason);
        health.failed(reason, link().isOver(TransportKind.RDMA));
        disconnect(reason);
    }

    /** The link must not be started because {@code link.max} is reached; logs that once. */
    void refuse(String reason) {
        if (health.notAllowed(reason)) {
            log.warn("link to {} is not started: {}", peer, reason);
        }
    }

    /** Removes queue pairs on a device that can no longer be used. */
    void leaveUnusableDevices() {
        String reason = "its device can no longer be used";
        if (link().isOnUnusableDevice()) {
            disconnect(reason);
        } else {
            trial.leaveUnusableDevice(reason);
        }
    }

    /** A device reports that one of its queue pairs has failed, perhaps without error completions. */
    void queuePairFailed(OpenDevice device, int qpn) {
        String reason = "queue pair 0x%x failed on %s".formatted(qpn, device);
        if (link().has(device, qpn)) {
            log.warn("link to {}: {}", peer, reason);
            link().avoid(device, qpn);
            health.broke(reason, false, link().isOver(TransportKind.RDMA));
            disconnect(reason);
        } else if (queuePairs.ofTrial().has(device, qpn) && trial.isSwitching()) {
            failed(reason);
        } else if (queuePairs.ofTrial().has(device, qpn)) {
            queuePairs.ofTrial().avoid(device, qpn);
            trial.queuePairFailed(reason);
        }
    }

    /** Leaves a device for which the peer has granted ranges without a key, until it has granted them with one. */
    void leaveDevicesWithoutKeys() {
        boolean haveRdma =
                context.usableDevices().stream().anyMatch(device -> device.transport() == TransportKind.RDMA);
        Optional<String> reason = view.filter(_ -> haveRdma).stream()
                .flatMap(known -> known.linkLayers().keySet().stream().sorted())
                .flatMap(rail -> lacksKeys(rail).stream())
                .findFirst();
        if (reason.isPresent() != withoutKeys) {
            withoutKeys = reason.isPresent();
            reason.ifPresentOrElse(
                    lacking -> log.warn(
                            "link to {} does not use a device as long as {}; see the log of '{}'", peer, lacking, peer),
                    () -> {
                        log.info("link to {}: all ranges are granted for each device", peer);
                        health.devicesChanged();
                    });
        }
        link().peerRails().stream()
                .flatMap(rail -> lacksKeys(rail).stream())
                .findFirst()
                .ifPresent(lacking -> {
                    health.broke(lacking, false, false);
                    disconnect(lacking);
                });
    }

    /** Destroys queue pairs that no shard has, at the end. */
    void close() {
        queuePairs.close();
    }

    /** The peer has granted other ranges of its memory than before. Any thread. */
    void grant(PeerGrants grants) {
        queuePairs.grant(grants);
    }

    /** The link as it is after a step. */
    LinkTrail.Seen seen() {
        return new LinkTrail.Seen(
                link().mine() instanceof Mine.Connected && link().isUp(),
                peerIncarnation,
                link().transportInUse(),
                health.failures(),
                health.lastWasRefusal());
    }

    String lastFailure() {
        return health.lastFailure();
    }

    /** Any thread. */
    LinkStatus status() {
        LinkQueuePairs now = link();
        String state = switch (now.mine()) {
            case Mine.Nothing() -> "down";
            case Mine.Offered _ -> "offered";
            case Mine.Connected _ -> now.isUp() ? "up" : "connecting";
            case Mine.Leaving() -> "leaving";
        };
        List<LinkStatus.OfShard> each = new ArrayList<>();
        for (PeerLink link : links()) {
            each.add(new LinkStatus.OfShard(
                    each.size(), link.phase().name().toLowerCase(Locale.ROOT), link.transport()));
        }
        String devices = each.stream()
                .map(LinkStatus.OfShard::device)
                .filter(device -> !device.isEmpty())
                .distinct()
                .collect(Collectors.joining(", "));
        return new LinkStatus(peer, state, now.transportInUse(), devices, health.lastFailure(), each);
    }
}
