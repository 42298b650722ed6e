package io.farpage.supervise;

import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Whether a loop makes progress: it says how long it may take until it is heard of again. The loop's thread beats; any
 * thread asks.
 */
public final class LoopPulse {
    private final String name;
    private final LongSupplier clock;
    private volatile long due;

    /**
     * Makes the pulse of a loop that is due at once.
     *
     * @param name of the loop, for messages
     * @param clock monotonic nanoseconds
     */
    public LoopPulse(String name, LongSupplier clock) {
        this.name = name;
        this.clock = clock;
        this.due = clock.getAsLong();
    }

    /** The loop runs, and beats again within this time. */
    public void beat(Duration within) {
        due = clock.getAsLong() + within.toNanos();
    }

    /** Since when the loop is overdue, in words; empty if it is not. */
    public Optional<String> stalled() {
        long late = clock.getAsLong() - due;
        return late > 0
                ? Optional.of("%s should have gone on %d ms ago"
                        .formatted(name, Duration.ofNanos(late).toMillis()))
                : Optional.empty();
    }
}
