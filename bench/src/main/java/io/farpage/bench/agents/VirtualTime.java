package io.farpage.bench.agents;

import io.farpage.coordinator.cluster.Time;
import java.time.Duration;
import java.time.Instant;

/** Clocks that a simulation turns by hand. Used by one thread. */
final class VirtualTime implements Time {
    private long nanos;

    void advance(Duration by) {
        nanos += by.toNanos();
    }

    @Override
    public long nanos() {
        return nanos;
    }

    @Override
    public Instant now() {
        return Instant.EPOCH.plusNanos(nanos);
    }
}
