package io.farpage.coordinator.cluster;

import java.time.Instant;

/** Both clocks, so that a test can turn them by hand. */
public interface Time {

    /** A clock that only goes forward, in nanoseconds from anywhere; leases go by it. */
    long nanos();

    /** The time of day, for people. */
    Instant now();

    /** The clocks of this machine. */
    static Time system() {
        return new Time() {
            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public Instant now() {
                return Instant.now();
            }
        };
    }
}
