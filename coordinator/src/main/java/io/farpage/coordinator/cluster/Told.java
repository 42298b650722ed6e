package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;

/** An event and the watchers that it concerns. */
record Told(Event event, Audience audience) {

    /**
     * Whether the event is of a node that a watcher does not follow, and is told to it because all nodes hear of it: it
     * may come a little later.
     */
    boolean isDistantFrom(EventFilter filter) {
        boolean leaves = event.kind() == EventKind.NODE_FAILED || event.kind() == EventKind.NODE_REMOVED;
        return leaves
                && audience.everyone()
                && filter.peers().isPresent()
                && event.node()
                        .filter(node -> filter.peers().get().contains(node)
                                || filter.node().filter(node::equals).isPresent())
                        .isEmpty();
    }
}
