package io.farpage.bench.report;

import java.time.Duration;
import org.HdrHistogram.Histogram;

/**
 * One round of measuring, of farpage or of its baseline.
 *
 * @param latencies of every fetch of the round, in nanoseconds, 3 significant digits; not changed once handed over
 * @param mismatches how many pages did not hold what they should
 * @param elapsed wall time from the first request to the last reply
 * @param scheduling of a measuring program that has ended with the round
 */
public record FetchRound(Histogram latencies, long mismatches, Duration elapsed, Scheduling scheduling)
        implements Turn {
    /** The longest latency told apart; a longer one is recorded as this. */
    public static final long LONGEST_NS = (1L << 36) - 1;

    public FetchRound {
        if (latencies.getTotalCount() == 0 || elapsed.isNegative() || elapsed.isZero()) {
            throw new IllegalArgumentException(
                    "a round of " + latencies.getTotalCount() + " fetches in " + elapsed + " measures nothing");
        }
    }

    /** A round of programs that live on. */
    public FetchRound(Histogram latencies, long mismatches, Duration elapsed) {
        this(latencies, mismatches, elapsed, Scheduling.NONE);
    }

    /** An empty histogram with the buckets that every round uses. */
    public static Histogram newHistogram() {
        return new Histogram(LONGEST_NS, 3);
    }

    @Override
    public double pagesPerSecond() {
        return latencies.getTotalCount() * 1e9 / elapsed.toNanos();
    }

    long at(double percentile) {
        return latencies.getValueAtPercentile(percentile);
    }
}
