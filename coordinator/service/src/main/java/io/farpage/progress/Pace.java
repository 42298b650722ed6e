package io.farpage.progress;

import java.util.OptionalLong;

/**
 * How fast an amount grows. What grew long ago counts less: after {@link #MEMORY_SECONDS} by the factor 1/e. Both the
 * amount and the time are reduced so, so that the rate is right from the first sample on. Not thread-safe.
 */
final class Pace {
    private static final double MEMORY_SECONDS = 15;
    private static final double NANOS_A_SECOND = 1e9;

    private double amount;
    private double seconds;

    /** Adds an amount that was done in {@code nanos} nanoseconds. */
    void add(long done, long nanos) {
        double passed = nanos / NANOS_A_SECOND;
        double kept = Math.exp(-passed / MEMORY_SECONDS);
        amount = amount * kept + done;
        seconds = seconds * kept + passed;
    }

    /** In a second; 0 if no time has passed. */
    double perSecond() {
        return seconds == 0 ? 0 : amount / seconds;
    }

    /**
     * Seconds that the rest takes at this rate; empty if nothing has been done of late, or the time is beyond a hundred
     * days.
     */
    OptionalLong secondsFor(long rest) {
        double needed = rest / perSecond();
        return needed < 100 * 86_400.0 ? OptionalLong.of((long) Math.ceil(needed)) : OptionalLong.empty();
    }
}
