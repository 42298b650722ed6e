package io.farpage.agent.control.link;

import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeReport;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Incarnations of other nodes that this agent has seen replaced or removed. A coordinator that is rebuilt refuses them.
 * The oldest are forgotten. Thread-safe.
 */
final class SupersededPeers {
    static final int KEPT = 4096;

    private final Set<NodeReport.Superseded> seen = new LinkedHashSet<>();

    synchronized void add(Node last) {
        seen.add(new NodeReport.Superseded(last.id(), last.incarnation()));
        if (seen.size() > KEPT) {
            seen.remove(seen.iterator().next());
        }
    }

    /** A node is registered: a coordinator that was rebuilt without its report may have left it out for a while. */
    synchronized void remove(Node registered) {
        seen.remove(new NodeReport.Superseded(registered.id(), registered.incarnation()));
    }

    synchronized List<NodeReport.Superseded> all() {
        return List.copyOf(seen);
    }
}
