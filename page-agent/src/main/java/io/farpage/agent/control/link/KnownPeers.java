package io.farpage.agent.control.link;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeReport;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The other nodes, as the coordinator described them last, and their offers to this one. Used by the links' thread,
 * except for methods for any thread.
 */
final class KnownPeers {
    private final String node;
    private final CoordinatorClient coordinator;
    private final Consumer<String> gone;

    private final Map<String, PeerView> views = new ConcurrentHashMap<>();
    private final Map<String, Optional<Endpoint>> offers = new HashMap<>();
    private final Map<String, Long> firstSeen = new HashMap<>();

    private final SupersededPeers superseded = new SupersededPeers();
    private final Followed followed;

    private final Set<String> staleViews = ConcurrentHashMap.newKeySet();
    private final Set<String> staleOffers = ConcurrentHashMap.newKeySet();
    private volatile boolean staleNodes = true;
    private volatile boolean allOffersStale = true;

    /**
     * @param node this node, which is not its own peer
     * @param mode whether all nodes are peers, or those that are followed
     * @param gone called on the links' thread with each node that was removed from the cluster
     */
    KnownPeers(String node, CoordinatorClient coordinator, LinkMode mode, Consumer<String> gone) {
        this.followed = new Followed(mode);
        this.node = node;
        this.coordinator = coordinator;
        this.gone = gone;
    }

    /**
     * {@code changed} came, went or has another state; what it offers is asked for again, and what other nodes offer is
     * not. Any thread.
     */
    void nodeChanged(String changed) {
        if (changed.equals(node)) {
            resync();
            return;
        }
        if (followed.contains(changed)) {
            staleOffers.add(changed);
            staleViews.add(changed);
        }
    }

    /** Events may have been missed: all nodes and their offers are asked for again. Any thread. */
    void resync() {
        allOffersStale = true;
        staleNodes = true;
    }

    /** {@code peer} published toward this node, or withdrew. Any thread. */
    void offerChanged(String peer) {
        follow(peer);
        staleOffers.add(peer);
    }

    /** From now on {@code peer} is known, if the coordinator knows it. Returns whether that is new. Any thread. */
    boolean follow(String peer) {
        if (peer.equals(node) || !followed.add(peer)) {
            return false;
        }
        staleOffers.add(peer);
        staleViews.add(peer);
        return true;
    }

    /** This node needs a link to {@code peer}. Any thread. */
    void want(String peer) {
        follow(peer);
        followed.want(peer);
    }

    /** Whether this node starts the link to {@code peer} without being asked. */
    boolean wants(String peer) {
        return followed.wants(peer);
    }

    /** The nodes whose events the next long poll asks for; those of all nodes, if empty. Any thread. */
    Optional<Set<String>> watched() {
        Optional<Set<String>> watched = followed.watch();
        // Their events until now were in no poll.
        followed.takeNewlyWatched().forEach(this::nodeChanged);
        return watched;
    }

    /** Whether the coordinator knows another node of that id. Any thread. */
    boolean has(String peer) {
        return views.containsKey(peer);
    }

    /** Incarnations that were replaced or removed. Any thread. */
    List<NodeReport.Superseded> superseded() {
        return superseded.all();
    }

    /** Ids of all peers. */
    List<String> ids() {
        return List.copyOf(views.keySet());
    }

    /** What is known of a peer. Any thread. */
    Optional<PeerView> view(String peer) {
        return Optional.ofNullable(views.get(peer));
    }

    /** What {@code peer} has published toward this node. */
    Optional<Endpoint> offer(String peer) {
        return offers.getOrDefault(peer, Optional.empty());
    }

    /** Nanoseconds since {@code peer} was first seen in its present incarnation. */
    long age(String peer, long now) {
        return now - firstSeen.getOrDefault(peer, now);
    }

    /** Asks the coordinator for all changes. A request that fails is repeated by the next call. */
    void refresh() throws CoordinatorException {
        if (staleNodes) {
            staleNodes = false;
            try {
                refreshNodes();
            } catch (CoordinatorException | RuntimeException e) {
                staleNodes = true;
                throw e;
            }
        }
        for (String peer : List.copyOf(staleViews)) {
            staleViews.remove(peer);
            try {
                refreshNode(peer);
            } catch (CoordinatorException | RuntimeException e) {
                staleViews.add(peer);
                throw e;
            }
        }
        followed.unwatched(System.nanoTime()).forEach(this::nodeChanged);
        for (String peer : List.copyOf(staleOffers)) {
            staleOffers.remove(peer);
            try {
                offers.put(peer, coordinator.endpoint(/* node= */ peer, /* peer= */ node));
            } catch (CoordinatorException | RuntimeException e) {
                staleOffers.add(peer);
                throw e;
            }
        }
    }

    private void refreshNodes() throws CoordinatorException {
        boolean everyOffer = allOffersStale;
        allOffersStale = false;
        try {
            refreshNodes(everyOffer);
        } catch (CoordinatorException | RuntimeException e) {
            allOffersStale |= everyOffer;
            throw e;
        }
    }

    private void refreshNodes(boolean everyOffer) throws CoordinatorException {
        if (followed.isAll()) {
            readAllNodes(everyOffer);
            return;
        }
        if (everyOffer) {
            offers.clear();
            for (Endpoint offer : coordinator.offers(node)) {
                follow(offer.node());
                offers.put(offer.node(), Optional.of(offer));
            }
        }
        staleViews.addAll(followed.ids());
    }

    private void readAllNodes(boolean everyOffer) throws CoordinatorException {
        // Before the request: a node that changes meanwhile may be in the answer as it was, and is asked for again.
        staleViews.clear();
        Set<String> present = new HashSet<>();
        for (Node peer : coordinator.nodes()) {
            if (peer.id().equals(node)) {
                continue;
            }
            present.add(peer.id());
            refreshed(peer, everyOffer);
        }
        for (String gone : ids()) {
            if (!present.contains(gone)) {
                gone(gone);
            }
        }
    }

    private void refreshNode(String peer) throws CoordinatorException {
        Optional<Node> now = coordinator.node(peer);
        if (now.isPresent()) {
            refreshed(now.get(), false);
        } else if (views.containsKey(peer)) {
            gone(peer);
        }
    }

    private void refreshed(Node peer, boolean itsOffer) {
        PeerView known = views.get(peer.id());
        boolean fresh = known == null || !known.node().incarnation().equals(peer.incarnation());
        if (fresh && known != null) {
            superseded.add(known.node());
        }
        // The endpoint may have been published, or its event lost, before this node knew the peer.
        if (fresh || itsOffer) {
            staleOffers.add(peer.id());
        }
        views.put(peer.id(), new PeerView(peer));
        if (fresh) {
            superseded.remove(peer);
            firstSeen.put(peer.id(), System.nanoTime());
        }
    }

    private void gone(String peer) {
        PeerView last = views.remove(peer);
        if (last != null) {
            superseded.add(last.node());
        }
        offers.remove(peer);
        staleOffers.remove(peer);
        gone.accept(peer);
    }
}
