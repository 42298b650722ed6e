package io.farpage.bench.node;

import org.HdrHistogram.Histogram;

/**
 * The outcome of a {@link Workload}.
 *
 * @param count transfers that ended well
 * @param mismatches how many pages did not hold what they should
 * @param firstMismatch the first of them, for people; empty if there was none
 * @param elapsedNs from the first request to the end of checking the last page
 * @param allocatedBytes by the shard's thread meanwhile
 * @param cpuNs CPU time of the whole process meanwhile
 * @param replays transfers that had to be asked again because the link was lost
 * @param latencies of the fetches, in nanoseconds
 * @param failure why it ended early, for people; empty if it did not
 */
record Outcome(
        long count,
        long mismatches,
        String firstMismatch,
        long elapsedNs,
        long allocatedBytes,
        long cpuNs,
        long replays,
        Histogram latencies,
        String failure) {}
