package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Since when nodes have failed. A node that only its network has left is back with all its pages, and a copy of them
 * would be thrown away. So no home replaces one on such a node before a grace is over. In memory only: a coordinator
 * that is started again counts from then. One thread.
 */
final class Absences {

    private final Time time;
    private final Duration grace;
    private final Map<String, Long> since = new HashMap<>();

    Absences(Time time, Duration grace) {
        this.time = time;
        this.grace = grace;
    }

    /** Takes note of the nodes that have failed. */
    void observe(State state) {
        Set<String> failed = state.nodes().values().stream()
                .filter(node -> node.status() == NodeStatus.FAILED)
                .map(Node::id)
                .collect(Collectors.toSet());
        since.keySet().retainAll(failed);
        failed.forEach(node -> since.putIfAbsent(node, time.nanos()));
    }

    /** Whether a home is on a node that has failed within the grace, and still counts as one that the extent has. */
    boolean isWithinGrace(Draft draft, ExtentHome home) {
        Long at = since.get(home.node());
        return at != null && time.nanos() - at < grace.toNanos() && mayReturn(draft, home);
    }

    /**
     * Whether a home is on a node that has failed and is not to be emptied. A node that is back without its pages has
     * no homes.
     */
    static boolean mayReturn(Draft draft, ExtentHome home) {
        return draft.isFailed(home.node()) && !draft.isDraining(home.node());
    }
}
