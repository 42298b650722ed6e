package io.farpage.agent.control.link;

import io.farpage.agent.control.LocalNode;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Seen;
import io.farpage.verbs.VerbsException;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Takes the next {@link Handshake} step of each link: agrees with the peer, through the coordinator, on what connects
 * to what. Used by the links' thread, except for {@link #request}.
 */
final class Negotiation {
    private final LocalNode self;
    private final LinkContext context;
    private final KnownPeers peers;
    private final Fencing fencing;
    private final Collection<LinkSession> sessions;
    /** The coordinator of this epoch refuses what devices may reach. */
    private Optional<Epoch> reducedIn = Optional.empty();

    private final SecureRandom random = new SecureRandom();
    private final Set<String> requested = ConcurrentHashMap.newKeySet();

    /** @param sessions those of all links, as they are at any time */
    Negotiation(
            LocalNode self, LinkContext context, KnownPeers peers, Fencing fencing, Collection<LinkSession> sessions) {
        this.self = self;
        this.context = context;
        this.peers = peers;
        this.fencing = fencing;
        this.sessions = sessions;
    }

    /** Starts the link to {@code peer} without waiting for the other side, grace or pause. Any thread. */
    void request(String peer) {
        requested.add(peer);
    }

    /** The peer was removed: the request has become void. */
    void forget(String peer) {
        requested.remove(peer);
    }

    /** Takes the next step of a link. */
    void step(LinkSession session, PeerView view) throws CoordinatorException {
        String peer = session.peer();
        long now = context.now();
        if (session.isForAnother(view.incarnation())) {
            session.disconnect("the peer restarted");
        }
        boolean isRequested = requested.contains(peer);
        boolean wanted = !fencing.covers(peer, view.incarnation())
                && view.node().status() == NodeStatus.ACTIVE
                && (isRequested || session.mayStart(now));
        if (!wanted) {
            return;
        }
        Optional<Endpoint> offer = peers.offer(peer).filter(o -> isCurrent(o, view));
        if (refuse(session, offer)) {
            requested.remove(peer);
            return;
        }
        boolean eager = isRequested || peers.wants(peer) || isDue(peer, now);
        Handshake.Step next = session.next(offer, eager);
        if (next != Handshake.Step.WAIT) {
            requested.remove(peer);
            execute(next, session, view, offer);
        } else {
            stepTrial(session, view, offer);
        }
        installConnected(session, view, offer);
    }

    private static void installConnected(LinkSession session, PeerView view, Optional<Endpoint> offer) {
        try {
            session.installConnected(view, offer);
        } catch (VerbsException | IllegalArgumentException e) {
            session.failed(e.toString());
        }
    }

    /**
     * In a mesh the node with the smaller id starts, and the other node starts if that has not happened within the
     * grace.
     */
    private boolean isDue(String peer, long now) {
        return context.options().mode() == LinkMode.MESH
                && (self.id().compareTo(peer) < 0
                        || peers.age(peer, now) > context.options().grace().toNanos());
    }

    /**
     * Applies the lists of allowed peers, which the coordinator cannot override. Returns whether a link is not allowed.
     */
    private boolean refuse(LinkSession session, Optional<Endpoint> offer) {
        AllowedPeers allowed = context.options().allowed();
        Optional<String> reason = allowed.refuse(session.peer())
                .or(() -> offer.flatMap(theirs -> allowed.refuse(session.peer(), theirs.entries())));
        reason.ifPresent(text -> {
            session.refuse(text);
            session.disconnect(text);
        });
        return reason.isPresent();
    }

    private boolean isCurrent(Endpoint offer, PeerView view) {
        return offer.incarnation().equals(view.node().incarnation())
                && offer.peerIncarnation().equals(self.incarnation());
    }

    private void execute(Handshake.Step step, LinkSession session, PeerView view, Optional<Endpoint> offer)
            throws CoordinatorException {
        int max = context.options().max();
        boolean begins = step == Handshake.Step.OFFER || step == Handshake.Step.ANSWER;
        if (begins && sessions.stream().filter(s -> !s.isIdle()).count() >= max) {
            session.refuse("link.max of " + max + " links is reached; raise it");
            return;
        }
        try {
            switch (step) {
                case WAIT -> {}
                case OFFER -> {
                    session.offer(newAttempt(), view, self.keys().with(view.node()), offer);
                    publish(session);
                }
                case ANSWER -> {
                    session.answer(newAttempt(), view, self.keys().with(view.node()), offer.orElseThrow());
                    publish(session);
                }
                case CONNECT -> {
                    session.connectOffered(offer.orElseThrow());
                    publish(session);
                }
                case DISCONNECT -> session.disconnect("the peer started the link anew");
            }
        } catch (VerbsException | IllegalArgumentException e) {
            session.failed(e.toString());
        } catch (CoordinatorException e) {
            // Whether the offer was published is unknown: its queue pairs are destroyed, so that none is left behind.
            session.failed(e.toString());
            throw e;
        }
    }

    /** Brings up a better transport beside the link. If it fails, the link continues. */
    private void stepTrial(LinkSession session, PeerView view, Optional<Endpoint> offer) throws CoordinatorException {
        boolean mayStart = sessions.stream().filter(LinkSession::hasTrial).count() < LinkOptions.TRIALS;
        try {
            session.stepTrial(view, offer, newAttempt(), mayStart);
            if (session.isUnpublished()) {
                publish(session);
            }
            session.installTrial(view, offer);
        } catch (VerbsException | IllegalArgumentException e) {
            session.failTrial(e.toString());
        }
    }

    private long newAttempt() {
        return random.nextLong();
    }

    private void publish(LinkSession session) throws CoordinatorException {
        EndpointRequest endpoint = session.toPublish(self.incarnation());
        Optional<Epoch> epoch = self.coordinator().allegiance().status().seen().map(Seen::epoch);
        if (reducedIn.isPresent() && reducedIn.equals(epoch)) {
            publish(session, endpoint.reduced());
        } else {
            try {
                publish(session, endpoint);
            } catch (CoordinatorRefusedException e) {
                // Nothing else in an endpoint is unknown to a coordinator of an earlier release. Its nodes then match
                // rails by their numbers, since neither gets the fabrics of the other.
                if (!isMalformed(e) || endpoint.equals(endpoint.reduced())) {
                    throw e;
                }
                publish(session, endpoint.reduced());
                reducedIn = epoch;
            }
        }
        session.published();
    }

    private static boolean isMalformed(CoordinatorRefusedException refused) {
        return refused.problem().status() == 400;
    }

    private void publish(LinkSession session, EndpointRequest endpoint) throws CoordinatorException {
        self.coordinator().publishEndpoint(self.id(), session.peer(), endpoint);
    }
}
