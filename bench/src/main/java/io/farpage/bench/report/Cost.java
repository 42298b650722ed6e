package io.farpage.bench.report;

import org.jspecify.annotations.Nullable;

/** What a run took beside time. The components' names are those in the JSON. */
public sealed interface Cost {
    /**
     * The cost of fetches.
     *
     * @param allocatedBytesPerFetch by the thread that fetches, median over the rounds: 0 once the JIT compiler is done
     * @param cpuNsPerFetch CPU time of the fetching process, all its threads together
     * @param replays fetches that were asked again because the link was lost meanwhile
     */
    record OfFetches(double allocatedBytesPerFetch, double cpuNsPerFetch, long replays) implements Cost {
        /** Digits that mean nothing are cut off. */
        public OfFetches {
            allocatedBytesPerFetch = Math.round(1000 * allocatedBytesPerFetch) / 1000.0;
            cpuNsPerFetch = Math.round(10 * cpuNsPerFetch) / 10.0;
        }
    }

    /**
     * The cost of faults, as counted by the agent that resolves them: medians of the rounds, and sums.
     *
     * @param fetchP50Ns from reading the fault to having the page, nanoseconds
     * @param installP50Ns from having the page to having installed it, nanoseconds
     * @param faults that the agent read
     * @param evictions pages taken out
     * @param prefetchHitRate prefetched pages behind which the toucher went on, of all that were prefetched, 0 to 1;
     *     null if none was
     */
    record OfFaults(
            long fetchP50Ns,
            long installP50Ns,
            long faults,
            long evictions,
            @Nullable Double prefetchHitRate) implements Cost {}
}
