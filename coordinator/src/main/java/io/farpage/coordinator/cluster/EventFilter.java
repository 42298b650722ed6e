package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Node;
import java.util.Optional;
import java.util.Set;

/**
 * Selects the events that a watcher gets.
 *
 * @param node that watches: it gets the events that concern it; all events, if left out
 * @param peers that the node follows: it gets changes of these nodes too; of all nodes, if left out
 */
public record EventFilter(Optional<String> node, Optional<Set<String>> peers) {

    /** All events. */
    public static final EventFilter ALL = new EventFilter(Optional.empty(), Optional.empty());

    /** Copies the set and checks the ids. */
    public EventFilter {
        node.ifPresent(Node::checkId);
        peers = peers.map(Set::copyOf);
        peers.ifPresent(ids -> ids.forEach(Node::checkId));
        if (peers.isPresent() && node.isEmpty()) {
            throw new IllegalArgumentException("peers: needs node, the node that follows them");
        }
    }

    boolean admits(Audience audience) {
        return node.isEmpty()
                || audience.everyone()
                || audience.nodes().contains(node.get())
                || audience.about().filter(this::follows).isPresent();
    }

    private boolean follows(String other) {
        return node.filter(other::equals).isPresent()
                || peers.map(ids -> ids.contains(other)).orElse(true);
    }
}
