package io.farpage.agent.control.link;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Incarnations of peers that are cut off from this node: their queue pairs are destroyed and no new ones created.
 * Destroying a queue pair ends its responder, so that no WRITE of the peer's arrives afterwards. {@link #begin} and
 * {@link #lift} are for any thread, the rest for the one that keeps links.
 */
final class Fencing {
    private final Map<Peer, CompletableFuture<Void>> fenced = new ConcurrentHashMap<>();

    private record Peer(String node, long incarnation) {}

    /** Cuts an incarnation off. Completes when no queue pair with it is left. */
    CompletableFuture<Void> begin(String node, long incarnation) {
        return fenced.computeIfAbsent(new Peer(node, incarnation), _ -> new CompletableFuture<>());
    }

    /** Allows links to an incarnation again. */
    void lift(String node, long incarnation) {
        fenced.remove(new Peer(node, incarnation));
    }

    /** Whether an incarnation is cut off. */
    boolean covers(String node, long incarnation) {
        return fenced.containsKey(new Peer(node, incarnation));
    }

    /** Destroys all queue pairs with incarnations that are cut off. */
    void enforce(Function<String, LinkSession> sessions) {
        fenced.forEach((peer, done) -> {
            LinkSession session = sessions.apply(peer.node());
            if (session.hasQueuePairs(peer.incarnation())) {
                session.disconnect("this incarnation of the peer is cut off");
            }
            if (!session.hasQueuePairs(peer.incarnation())) {
                done.complete(null);
            }
        });
    }
}
