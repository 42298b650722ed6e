package io.farpage.it.deadlines;

import java.time.Duration;
import java.util.Locale;

/**
 * The deadline of one wait. The time between two readings counts by the share that the machine gave in it. A wait that
 * is disturbed after it has begun gets more time from then on; one on a quiet machine gets what it asked for.
 */
final class Deadline {
    /** The longest deadline, in multiples of that on a quiet machine. */
    static final int LONGEST = 12;
    /**
     * How much longer a deadline is when some task waits for a CPU all the time. The pressure does not tell how many
     * tasks wait: it is complete with two runnable tasks for each CPU and with ten. At four, work takes four times as
     * long.
     */
    static final double OF_PRESSURE = 3;

    private final String what;
    private final Duration quiet;
    private final Reading first;
    private Reading last;
    private long countedNanos;
    private double leastShare;
    private double mostPressure;

    Deadline(String what, Duration quiet, Reading first) {
        this.what = what;
        this.quiet = quiet;
        this.first = first;
        last = first;
        leastShare = first.share();
        mostPressure = first.pressure().orElse(0);
    }

    /** Counts the time since the last reading, by the worse of both. */
    void onReading(Reading now) {
        countedNanos += (long) Math.ceil(Math.max(0, now.nanos() - last.nanos()) * Math.min(now.given(), last.given()));
        leastShare = Math.min(leastShare, now.share());
        mostPressure = Math.max(mostPressure, now.pressure().orElse(0));
        last = now;
    }

    boolean isOver() {
        return countedNanos >= quiet.toNanos();
    }

    /** Whether a quiet machine's time has passed and this wait goes on. */
    boolean isProlonged() {
        return waitedNanos() >= quiet.toNanos() && !isOver();
    }

    private long waitedNanos() {
        return last.nanos() - first.nanos();
    }

    /** What was waited for, for how long, and what the machine gave meanwhile. */
    String describe() {
        return String.format(
                Locale.ROOT,
                "%s: not within %.1f s of a quiet machine; waited %.1f s, which count as %.1f s: a thread got at least"
                        + " %.0f%% of a CPU, at last %.0f%%; CPU pressure %s",
                what,
                quiet.toNanos() / 1e9,
                waitedNanos() / 1e9,
                countedNanos / 1e9,
                100 * leastShare,
                100 * last.share(),
                last.pressure().isEmpty()
                        ? "unknown"
                        : String.format(
                                Locale.ROOT,
                                "at most %.0f%%, at last %.0f%%",
                                100 * mostPressure,
                                100 * last.pressure().getAsDouble()));
    }
}
