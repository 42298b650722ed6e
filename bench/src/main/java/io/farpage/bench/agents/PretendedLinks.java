package io.farpage.bench.agents;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The requests that a page agent makes for its links: what it asks for of its peers after an event, and the offers that
 * it publishes. No queue pair is behind an offer. {@link #refresh} is used by one thread.
 */
final class PretendedLinks {
    private final String node;
    private final Incarnation incarnation;
    private final CoordinatorClient coordinator;
    private final Links mode;
    private final Measures measures;

    private final Map<String, Node> peers = new ConcurrentHashMap<>();
    private final Map<String, Attempt> offered = new ConcurrentHashMap<>();
    private final Map<String, Long> wanted = new ConcurrentHashMap<>();
    private final Set<String> followed = ConcurrentHashMap.newKeySet();
    private final Set<String> up = ConcurrentHashMap.newKeySet();
    private final Set<String> staleViews = ConcurrentHashMap.newKeySet();
    private final Set<String> staleOffers = ConcurrentHashMap.newKeySet();
    private volatile boolean stale = true;

    PretendedLinks(String node, Incarnation incarnation, CoordinatorClient coordinator, Links mode, Measures measures) {
        this.node = node;
        this.incarnation = incarnation;
        this.coordinator = coordinator;
        this.mode = mode;
        this.measures = measures;
    }

    void resync() {
        stale = true;
    }

    void nodeChanged(String peer) {
        if (mode == Links.MESH || followed.contains(peer)) {
            staleViews.add(peer);
            staleOffers.add(peer);
        }
    }

    void offerChanged(String peer) {
        follow(peer);
        staleOffers.add(peer);
    }

    /** Requests a link with {@code peer}. */
    void want(String peer) {
        wanted.putIfAbsent(peer, System.nanoTime());
        follow(peer);
        staleOffers.add(peer);
    }

    private void follow(String peer) {
        if (mode == Links.DEMAND && followed.add(peer)) {
            staleViews.add(peer);
        }
    }

    /** The nodes whose events the agent asks for; of all nodes, if empty. */
    Optional<Set<String>> watched() {
        return mode == Links.MESH ? Optional.empty() : Optional.of(Set.copyOf(followed));
    }

    /** Peers to whose offer it has answered, or that have answered its own. */
    int up() {
        return up.size();
    }

    boolean isUp(String peer) {
        return up.contains(peer);
    }

    /** Asks for what has changed. What fails is asked for again by the next call. */
    void refresh() throws CoordinatorException {
        if (stale) {
            stale = false;
            try {
                readAll();
            } catch (CoordinatorException e) {
                stale = true;
                throw e;
            }
        }
        for (String peer : Set.copyOf(staleViews)) {
            // Before the request: the node may change once more while it is read.
            staleViews.remove(peer);
            if (!peer.equals(node)) {
                readOne(peer);
            }
        }
        for (String peer : Set.copyOf(staleOffers)) {
            if (!peer.equals(node)) {
                staleOffers.remove(peer);
                try {
                    step(peer, coordinator.endpoint(/* node= */ peer, /* peer= */ node));
                } catch (CoordinatorException e) {
                    staleOffers.add(peer);
                    throw e;
                }
            }
        }
    }

    private void readAll() throws CoordinatorException {
        if (mode == Links.DEMAND) {
            for (Endpoint offer : coordinator.offers(node)) {
                offerChanged(offer.node());
            }
            followed.forEach(this::nodeChanged);
            return;
        }
        for (Node peer : coordinator.nodes()) {
            if (!peer.id().equals(node)) {
                read(peer);
                staleOffers.add(peer.id());
            }
        }
    }

    private void readOne(String peer) throws CoordinatorException {
        try {
            Optional<Node> now = coordinator.node(peer);
            if (now.isPresent()) {
                read(now.get());
            }
        } catch (CoordinatorException e) {
            staleViews.add(peer);
            throw e;
        }
    }

    private void read(Node peer) throws CoordinatorException {
        Node known = peers.put(peer.id(), peer);
        if (known == null || !known.incarnation().equals(peer.incarnation()) || known.status() != peer.status()) {
            staleOffers.add(peer.id());
        }
    }

    /** Publishes an offer, or an answer, as the handshake of page agents does. */
    private void step(String peer, Optional<Endpoint> offer) throws CoordinatorException {
        Node view = peers.get(peer);
        if (view == null || view.status() != NodeStatus.ACTIVE) {
            return;
        }
        Attempt mine = offered.get(peer);
        Optional<Attempt> theirs = offer.flatMap(Endpoint::attempt);
        Optional<Attempt> answered = offer.flatMap(Endpoint::answers);
        if (mine == null && theirs.isPresent() && answered.isEmpty()) {
            publish(view, theirs);
        } else if (mine == null && (mode == Links.MESH ? node.compareTo(peer) < 0 : wanted.containsKey(peer))) {
            publish(view, Optional.empty());
        } else if (mine != null && answered.filter(mine::equals).isPresent() && up.add(peer)) {
            measures.links.record(System.nanoTime() - wanted.getOrDefault(peer, System.nanoTime()));
        }
    }

    private void publish(Node peer, Optional<Attempt> answers) throws CoordinatorException {
        Attempt attempt = new Attempt(ThreadLocalRandom.current().nextLong());
        coordinator.publishEndpoint(
                node, peer.id(), Documents.offer(incarnation, peer.incarnation(), attempt, answers));
        offered.put(peer.id(), attempt);
        if (answers.isPresent()) {
            up.add(peer.id());
        }
    }
}
