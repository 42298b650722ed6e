package io.farpage.coordinator.cluster;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;

/** Clocks that a test turns by hand. */
public final class FakeTime implements Time {

    private final AtomicLong nanos =
            new AtomicLong(Long.MAX_VALUE - 1_000_000); // so that it soon wraps round, as nanoTime may

    public void advance(Duration by) {
        nanos.addAndGet(by.toNanos());
    }

    @Override
    public long nanos() {
        return nanos.get();
    }

    @Override
    public Instant now() {
        return Instant.ofEpochSecond(1_800_000_000L).plusNanos(nanos.get() - (Long.MAX_VALUE - 1_000_000));
    }
}
