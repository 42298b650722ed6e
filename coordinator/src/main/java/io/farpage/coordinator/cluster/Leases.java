package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Node;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/**
 * When the leases run out. In memory only: after a restart every node that has not failed gets a whole lease. Leases go
 * by a clock that stands while the coordinator stands: if a check of the leases is late, the process was stopped or
 * starved, and could hear no heartbeat in that time. Thread-safe.
 */
public final class Leases {

    /** A check that is late by this share of a lease is taken for the end of a standstill. */
    private static final int TOLERANCE_SHARE = 10;

    private final Map<String, Long> deadlines = new ConcurrentHashMap<>();
    private final Time time;
    private final Duration duration;
    private final Duration grace;
    private volatile Clock clock = new Clock(0, OptionalLong.empty(), OptionalLong.empty());

    /**
     * The clock of the leases.
     *
     * @param stood nanoseconds that do not count
     * @param due when the next check is due, by {@link Time#nanos}; empty if no check was announced
     * @param graced when heartbeats that waited were given time last, by this clock
     */
    private record Clock(long stood, OptionalLong due, OptionalLong graced) {}

    /** @param grace time for heartbeats that were kept waiting by a standstill */
    Leases(Time time, Duration duration, Duration grace) {
        this.time = time;
        this.duration = duration;
        this.grace = grace;
    }

    /** The time by which leases count. During a standstill it is the time at which the check was due. */
    private long now() {
        Clock known = clock;
        long now = time.nanos();
        return (isLate(known, now) ? known.due().getAsLong() : now) - known.stood();
    }

    private boolean isLate(Clock known, long now) {
        return known.due().isPresent() && now - known.due().getAsLong() > duration.toNanos() / TOLERANCE_SHARE;
    }

    /**
     * The leases are checked now, and again within a time. One thread.
     *
     * @return how long the coordinator stood still; zero if the check comes in time
     */
    Duration check(Duration next) {
        Clock known = clock;
        long now = time.nanos();
        Duration late = isLate(known, now) ? Duration.ofNanos(now - known.due().getAsLong()) : Duration.ZERO;
        boolean graces = !late.isZero() && isRested(known, now);
        Duration stood = graces ? late.plus(grace) : late;
        long stoodSoFar = known.stood() + stood.toNanos();
        clock = new Clock(
                stoodSoFar,
                OptionalLong.of(now + next.toNanos()),
                graces ? OptionalLong.of(now - stoodSoFar) : known.graced());
        return late;
    }

    /** Once in a lease: a coordinator that is starved again and again must still find that a node has failed. */
    private boolean isRested(Clock known, long now) {
        return known.graced().isEmpty() || now - known.stood() - known.graced().getAsLong() > duration.toNanos();
    }

    void renew(String node) {
        deadlines.put(node, now() + duration.toNanos());
    }

    void end(String node) {
        deadlines.remove(node);
    }

    boolean isLive(String node) {
        Long deadline = deadlines.get(node);
        return deadline != null && deadline - now() > 0;
    }

    /** How long until a node's lease runs out; zero if it has none. */
    Duration remaining(String node) {
        Long deadline = deadlines.get(node);
        return deadline == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, deadline - now()));
    }

    /** The node with its lease's expiry, for people. */
    Node withLease(Node node) {
        Long deadline = deadlines.get(node.id());
        Optional<Instant> expiry =
                deadline == null ? Optional.empty() : Optional.of(time.now().plusNanos(deadline - now()));
        return node.withLeaseExpiry(expiry);
    }
}
