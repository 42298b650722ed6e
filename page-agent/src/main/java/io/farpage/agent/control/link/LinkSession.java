package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transport;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.agent.control.link.Handshake.Theirs;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.TrialOffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane's side of the link to one peer: the queue pairs of the link and, while the link is over TCP and RDMA is tried, those of a
 * trial. A trial that both nodes have verified replaces the link; the link's old queue pairs stay until the peer has switched, too, since it may
 * still use them. Used by the links' thread, except for {@link #links}, {@link #isUp} and {@link #status}.
 */
final class LinkSession {
    private static final Logger log = LoggerFactory.getLogger(LinkSession.class);
    /** How long the old queue pairs wait for the peer to switch. */
    private static final Duration RETIREMENT = Duration.ofSeconds(10);

    private final String peer;
    private final Transports transports;
    private final List<ShardLoop> shards;
    private final List<PeerLink> links;
    private final List<PeerLink> trialLinks;
    private final LinkOptions options;
    private final Backoff backoff;
    private final Backoff rdmaBackoff;

    private volatile LinkQueuePairs main;
    private LinkQueuePairs trial;
    private Trial stage = Trial.NONE;
    private int switched;
    private long stageSince;
    private long upSince;
    private long peerIncarnation;
    /** Whether the link failed last because the peer refused a request. */
    private boolean refused;

    private boolean unpublished;
    private boolean unfinished;
    private volatile String lastFailure = "";

    /** The state of the trial's queue pairs. */
    private enum Trial {
        NONE,
        /** They are being connected and verified. */
        PROVING,
        /** Both sides have verified them; the shards switch to them one after the other. */
        SWITCHING,
        /** They are the old queue pairs of the link, which the peer may still use. */
        RETIRED
    }

    LinkSession(
            String peer,
            Transports transports,
            List<ShardLoop> shards,
            List<ShardRails> rails,
            LinkOptions options,
            Destroyer destroyer) {
        this.peer = peer;
        this.transports = transports;
        this.shards = shards;
        this.links = shards.stream().map(s -> new PeerLink(peer)).toList();
        this.trialLinks = shards.stream().map(s -> new PeerLink(peer)).toList();
        this.options = options;
        this.backoff = new Backoff(options.firstBackoff(), options.longestBackoff());
        this.rdmaBackoff = new Backoff(options.rdmaPause(), options.longestRdmaPause());
        this.main = new LinkQueuePairs(peer, shards, rails, options, destroyer);
        this.trial = new LinkQueuePairs(peer, shards, rails, options, destroyer);
    }

    String peer() {
        return peer;
    }

    /** The shards' sides of the link, by the number of the shard. */
    List<PeerLink> links() {
        return links;
    }

    LinkQueuePairs main() {
        return main;
    }

    boolean isUp() {
        return main.isUp();
    }

    /** Whether there are queue pairs of any kind. */
    boolean isIdle() {
        return main.isNothing() && trial.isNothing();
    }

    /** Whether queue pairs of a trial, or retired ones, exist. */
    boolean hasTrial() {
        return !trial.isNothing();
    }

    /** Whether the pause after a failure is over. */
    boolean mayStart(long now) {
        return backoff.isOver(now);
    }

    /** The incarnation of the peer that the present queue pairs are for. */
    long peerIncarnation() {
        return peerIncarnation;
    }

    /** The devices have changed: RDMA may be tried at once. */
    void devicesChanged() {
        rdmaBackoff.reset();
    }

    // ---- the link

    /** The devices that the link may use, best first. */
    private List<OpenDevice> devices() {
        boolean rdma = rdmaBackoff.isOver(System.nanoTime());
        return main.usable(transports.devices()).stream()
                .filter(d -> d.transport() == Transport.TCP || rdma)
                .toList();
    }

    /** The next step of the link, given the peer's offer. */
    Step next(Optional<Endpoint> offer, boolean eager) {
        if (stage == Trial.SWITCHING || offer.filter(this::hasSwitched).isPresent()) {
            return Step.WAIT; // to the queue pairs that the peer uses by now
        }
        return Handshake.next(main.mine(), offer.flatMap(this::theirs), main.lastUsed(), eager);
    }

    /** Whether the peer has made the queue pairs of the trial its link. */
    private boolean hasSwitched(Endpoint offer) {
        return offer.attempt().filter(a -> trial.isConnectedTo(a.value())).isPresent() && stage == Trial.PROVING;
    }

    private Optional<Theirs> theirs(Endpoint offer) {
        // A peer that has not switched yet shows the queue pairs that this node uses already as its trial.
        Optional<TrialOffer> used =
                offer.trial().filter(t -> main.isConnectedTo(t.attempt().value()));
        return used.isPresent()
                ? used.map(t -> main.theirs(t.attempt().value(), t.answers(), t.entries()))
                : offer.attempt().map(a -> main.theirs(a.value(), offer.answers(), offer.entries()));
    }

    void offer(long attempt, PeerView view, Optional<Endpoint> theirs) {
        peerIncarnation = view.incarnation();
        main.offer(attempt, devices(), theirs.map(Endpoint::entries).orElse(List.of()));
    }

    void answer(long attempt, PeerView view, Endpoint theirs) {
        peerIncarnation = view.incarnation();
        main.answer(attempt, devices(), theirs.attempt().orElseThrow().value(), theirs.entries());
    }

    void connectOffered(Endpoint theirs) {
        main.connectOffered(devices(), theirs.attempt().orElseThrow().value(), theirs.entries());
    }

    void finish(PeerView view) {
        main.finish(view, links);
    }

    /** Whether the published endpoint is out of date. */
    boolean isUnpublished() {
        return unpublished && main.isOut();
    }

    /** The endpoint is published: new queue pairs of the trial may be verified. */
    void published(PeerView view) {
        unpublished = false;
        if (unfinished) {
            unfinished = false;
            trial.finish(view, trialLinks);
        }
    }

    /** The endpoint to publish: the link's queue pairs and the trial's. */
    EndpointRequest toPublish(Incarnation own) {
        boolean shown = (stage == Trial.PROVING || stage == Trial.SWITCHING) && trial.isOut();
        return new EndpointRequest(
                own,
                new Incarnation(peerIncarnation),
                Optional.of(new Attempt(main.attempt())),
                main.answers(),
                main.entries(),
                shown
                        ? Optional.of(new TrialOffer(
                                new Attempt(trial.attempt()), trial.answers(), trial.isUp(), trial.entries()))
                        : Optional.empty());
    }

    // ---- the trial

    /** Whether the link could be over RDMA but is not, and it is time to try. */
    private boolean wantsTrial(PeerView view, long now) {
        return isUp()
                && main.transportInUse().equals(Transport.TCP.word())
                && transports.preferred() == Transport.RDMA
                && view.node().transports().contains(TransportKind.RDMA)
                && rdmaBackoff.isOver(now);
    }

    private List<OpenDevice> trialDevices() {
        return trial.usable(transports.devices()).stream()
                .filter(d -> d.transport() == Transport.RDMA)
                .toList();
    }

    /**
     * Takes the next step of the trial.
     *
     * @param newAttempt for an offer of this node's
     * @param mayStart whether another trial may be started
     */
    void stepTrial(PeerView view, Optional<Endpoint> offer, long newAttempt, boolean mayStart, long now) {
        switch (stage) {
            case NONE -> begin(offer, newAttempt, mayStart, now, view);
            case PROVING -> prove(offer, now);
            case SWITCHING -> {}
            case RETIRED -> retire(offer, now);
        }
    }

    private void begin(Optional<Endpoint> offer, long newAttempt, boolean mayStart, long now, PeerView view) {
        if (!isUp() || !mayStart || !trial.isNothing() || trialDevices().isEmpty()) {
            return;
        }
        Optional<TrialOffer> theirs = offer.flatMap(Endpoint::trial);
        Step step = Handshake.next(new Mine.Nothing(), theirs.map(this::theirs), trial.lastUsed(), false);
        if (step == Step.ANSWER && main.transportInUse().equals(Transport.TCP.word())) {
            enter(Trial.PROVING, now);
            trial.answer(
                    newAttempt,
                    trialDevices(),
                    theirs.orElseThrow().attempt().value(),
                    theirs.get().entries());
            unfinished = true;
            unpublished = true;
        } else if (wantsTrial(view, now)) {
            log.info("link to {}: trying rdma beside tcp", peer);
            enter(Trial.PROVING, now);
            trial.offer(
                    newAttempt, trialDevices(), theirs.map(TrialOffer::entries).orElse(List.of()));
            unpublished = true;
        }
    }

    private Theirs theirs(TrialOffer offer) {
        return trial.theirs(offer.attempt().value(), offer.answers(), offer.entries());
    }

    private void prove(Optional<Endpoint> offer, long now) {
        Optional<TrialOffer> theirs = offer.flatMap(Endpoint::trial);
        boolean peerSwitched = offer.filter(this::hasSwitched).isPresent();
        if (trial.isUp() && (peerSwitched || theirs.filter(this::isProven).isPresent())) {
            enter(Trial.SWITCHING, now);
            switched = 0;
            for (int shard = 0; shard < shards.size(); shard++) {
                shards.get(shard).submit(new ShardCommand.Switch(links.get(shard), trialLinks.get(shard)));
            }
            return;
        }
        if (now - stageSince > options.trialTimeout().toNanos()) {
            failTrial("it was not proved within " + options.trialTimeout());
            return;
        }
        if (trial.isConnected()
                && !peerSwitched
                && theirs.filter(t -> trial.isConnectedTo(t.attempt().value())).isEmpty()) {
            failTrial("the peer gave it up");
            return;
        }
        Step step = trial.isConnected()
                ? Step.WAIT
                : Handshake.next(trial.mine(), theirs.map(this::theirs), trial.lastUsed(), false);
        if (step == Step.CONNECT) {
            trial.connectOffered(
                    trialDevices(),
                    theirs.orElseThrow().attempt().value(),
                    theirs.get().entries());
            unfinished = true;
            unpublished = true;
        }
    }

    private boolean isProven(TrialOffer theirs) {
        return theirs.proven() && trial.isConnectedTo(theirs.attempt().value());
    }

    private void retire(Optional<Endpoint> offer, long now) {
        boolean peerSwitched = offer.flatMap(Endpoint::attempt)
                .filter(a -> main.isConnectedTo(a.value()))
                .isPresent();
        if (peerSwitched || now - stageSince > RETIREMENT.toNanos() || !trial.isOut()) {
            endTrial("another transport has taken over");
        }
    }

    /** The trial's queue pairs are those of the link from now on. */
    private void exchange() {
        LinkQueuePairs old = main;
        main = trial;
        trial = old;
        enter(Trial.RETIRED, System.nanoTime());
        unpublished = true;
        upSince = System.nanoTime();
        lastFailure = "";
        log.info("link to {} has moved to {}", peer, main.transportInUse());
    }

    /** Ends the trial and pauses; the link continues. */
    void failTrial(String reason) {
        rdmaBackoff.failed(System.nanoTime());
        lastFailure = "rdma: " + reason;
        log.warn("link to {} stays on tcp, rdma failed: {}; next try in {}", peer, reason, rdmaBackoff.pause());
        endTrial(reason);
        unpublished = true;
    }

    private void endTrial(String reason) {
        stage = Trial.NONE;
        unfinished = false;
        trial.removeAll(reason, List.of(links, trialLinks));
    }

    private void enter(Trial next, long now) {
        stage = next;
        stageSince = now;
    }

    // ---- notices of shards

    /** Handles a notice of a shard. */
    void handle(ShardNotice notice) {
        switch (notice) {
            case ShardNotice.Up(PeerLink link, long attempt) -> proved(attempt);
            case ShardNotice.Switched(PeerLink link, PeerLink other, long attempt) -> {
                if (stage == Trial.SWITCHING && trial.owns(attempt) && ++switched == shards.size()) {
                    exchange();
                }
            }
            case ShardNotice.Released released -> released(released);
            case ShardNotice.RailFailed ignored -> {}
        }
    }

    private void proved(long attempt) {
        if (main.owns(attempt) && main.proved()) {
            upSince = System.nanoTime();
            if (!refused) {
                backoff.reset(); // what broke is whole again; what was refused is so only once it lasts
            }
            log.info("link to {} is up over {}", peer, main.transportInUse());
        } else if (trial.owns(attempt) && trial.proved()) {
            unpublished = true;
        }
    }

    private void released(ShardNotice.Released notice) {
        if (trial.owns(notice.attempt())) {
            boolean expected = trial.mine() instanceof Mine.Leaving || stage == Trial.RETIRED;
            trial.released(notice);
            if (stage == Trial.SWITCHING) {
                failed(notice.reason()); // some shards may have switched
            } else if (!expected) {
                failTrial(notice.reason());
            } else {
                endTrial(notice.reason());
            }
        } else if (main.owns(notice.attempt())) {
            boolean expected = main.mine() instanceof Mine.Leaving;
            String over = main.transportInUse();
            main.released(notice);
            if (!expected) {
                refused = notice.refused();
                log.warn("link to {} failed over {}: {}", peer, over, notice.reason());
                fail(notice.reason(), over);
                disconnect(notice.reason());
            }
        }
    }

    private void fail(String reason, String over) {
        long now = System.nanoTime();
        lastFailure = reason;
        if (upSince != 0 && now - upSince > options.longestBackoff().toNanos()) {
            backoff.reset();
        }
        backoff.failed(now);
        if (over.equals(Transport.RDMA.word()) && transports.hasFallback()) {
            if (upSince != 0 && now - upSince > options.longestRdmaPause().toNanos()) {
                rdmaBackoff.reset();
            }
            rdmaBackoff.failed(now);
        }
        upSince = 0;
    }

    /** Removes all queue pairs; {@link #isIdle} once they are destroyed. */
    void disconnect(String reason) {
        List<List<PeerLink>> all = List.of(links, trialLinks);
        stage = Trial.NONE;
        unfinished = false;
        unpublished = false;
        trial.removeAll(reason, all);
        main.removeAll(reason, all);
        upSince = 0;
    }

    /** As {@link #disconnect}, because of a failure: pauses before the next attempt. */
    void failed(String reason) {
        log.warn("link to {} cannot be made: {}", peer, reason);
        fail(reason, main.transportInUse());
        disconnect(reason);
    }

    /** The link cannot be started because {@code link.max} is reached; logs that once. */
    void refuse(String reason) {
        if (!reason.equals(lastFailure)) {
            log.warn("link to {} is not started: {}", peer, reason);
        }
        lastFailure = reason;
        backoff.failed(System.nanoTime());
    }

    /** Removes queue pairs on a device that can no longer be used. */
    void leaveStranded() {
        String reason = "its device can no longer be used";
        if (main.isStranded()) {
            disconnect(reason);
        } else if (trial.isStranded() && stage != Trial.RETIRED) {
            failTrial(reason);
        } else if (trial.isStranded()) {
            endTrial(reason);
        }
    }

    /** Whether there are queue pairs with an incarnation of the peer, those that are being destroyed included. */
    boolean hasQueuePairs(long incarnation) {
        return !isIdle() && peerIncarnation == incarnation;
    }

    /** Whether a queue pair is on {@code device}. */
    boolean uses(OpenDevice device) {
        return main.uses(device) || trial.uses(device);
    }

    /** Destroys queue pairs that no shard has, at the end. */
    void close() {
        main.close();
        trial.close();
    }

    /** Tells the shards which incarnation of the peer is alive; 0 for none. */
    void knownIncarnation(long incarnation) {
        for (int shard = 0; shard < shards.size(); shard++) {
            shards.get(shard).submit(new ShardCommand.SetIncarnation(links.get(shard), incarnation));
        }
    }

    LinkStatus status() {
        LinkQueuePairs now = main;
        String state = switch (now.mine()) {
            case Mine.Nothing nothing -> "down";
            case Mine.Offered(long attempt) -> "offered";
            case Mine.Connected(long attempt, long to) -> now.isUp() ? "up" : "connecting";
            case Mine.Leaving leaving -> "leaving";
        };
        List<LinkStatus.OfShard> each = new ArrayList<>();
        for (PeerLink link : links) {
            each.add(new LinkStatus.OfShard(each.size(), link.phase().name().toLowerCase(Locale.ROOT)));
        }
        return new LinkStatus(
                peer, state, now.transportInUse(), links.getFirst().transport(), lastFailure, each);
    }
}
