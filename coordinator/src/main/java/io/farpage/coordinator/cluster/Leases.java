package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Node;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** When the leases run out. In memory only: after a restart every node that has not failed gets a whole lease. Thread-safe. */
public final class Leases {

    private final Map<String, Long> deadlines = new ConcurrentHashMap<>();
    private final Time time;
    private final Duration duration;

    Leases(Time time, Duration duration) {
        this.time = time;
        this.duration = duration;
    }

    void renew(String node) {
        deadlines.put(node, time.nanos() + duration.toNanos());
    }

    void end(String node) {
        deadlines.remove(node);
    }

    boolean isLive(String node) {
        Long deadline = deadlines.get(node);
        return deadline != null && deadline - time.nanos() > 0;
    }

    /** How long until a node's lease runs out; zero if it has none. */
    Duration remaining(String node) {
        Long deadline = deadlines.get(node);
        return deadline == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, deadline - time.nanos()));
    }

    /** The node with its lease's expiry, for people. */
    Node withLease(Node node) {
        Long deadline = deadlines.get(node.id());
        Optional<Instant> expiry =
                deadline == null ? Optional.empty() : Optional.of(time.now().plusNanos(deadline - time.nanos()));
        return node.withLeaseExpiry(expiry);
    }
}
