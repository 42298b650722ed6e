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
 * The requests that a page agent makes for its links: what it asks for of its peers after an event, and the offers that it publishes. No queue
 * pair is behind an offer. {@link #refresh} is used by one thread.
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
    private final Set<String> up = ConcurrentHashMap.newKeySet();
    private final Set<String> staleRegions = ConcurrentHashMap.newKeySet();
    private final Set<String> staleOffers = ConcurrentHashMap.newKeySet();
    private volatile boolean staleNodes = true;
    private volatile boolean everyOfferStale = true;

    PretendedLinks(String node, Incarnation incarnation, CoordinatorClient coordinator, Links mode, Measures measures) {
        this.node = node;
        this.incarnation = incarnation;
        this.coordinator = coordinator;
        this.mode = mode;
        this.measures = measures;
    }

    void resync() {
        everyOfferStale = true;
        staleNodes = true;
    }

    void nodeChanged(String peer) {
        staleOffers.add(peer);
        staleNodes = true;
    }

    void regionsChanged(String peer) {
        staleRegions.add(peer);
        staleNodes = true;
    }

    void offerChanged(String peer) {
        staleOffers.add(peer);
    }

    void want(String peer) {
        wanted.putIfAbsent(peer, System.nanoTime());
        staleNodes = true;
    }

    /** Peers to whose offer it has answered, or that have answered its own. */
    int up() {
        return up.size();
    }

    void refresh() throws CoordinatorException {
        if (staleNodes) {
            staleNodes = false;
            boolean every = everyOfferStale;
            everyOfferStale = false;
            readNodes(every);
        }
        for (String peer : Set.copyOf(staleOffers)) {
            staleOffers.remove(peer);
            if (!peer.equals(node)) {
                step(peer, coordinator.endpoint(peer, node));
            }
        }
    }

    private void readNodes(boolean every) throws CoordinatorException {
        for (Node peer : coordinator.nodes()) {
            if (peer.id().equals(node)) {
                continue;
            }
            Node known = peers.put(peer.id(), peer);
            boolean fresh = known == null || !known.incarnation().equals(peer.incarnation());
            if (fresh || staleRegions.remove(peer.id())) {
                coordinator.region(peer.id(), "header");
            }
            if (fresh || every) {
                staleOffers.add(peer.id());
            }
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
