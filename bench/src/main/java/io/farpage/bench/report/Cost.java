package io.farpage.bench.report;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
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

    /**
     * The parts of the start of a clone: medians, nanoseconds.
     *
     * @param attachP50Ns of the request that makes the clone and attaches it
     * @param touchP50Ns from before the memory is mapped and handed over until the first page is touched
     */
    record OfStarts(long attachP50Ns, long touchP50Ns) implements Cost {}

    /**
     * What a host has fetched for the touches of all rounds.
     *
     * @param touchedPages of each clone, added
     * @param distinctPages that any clone has touched
     * @param fetchedPages over the wire, with all that is read beside them, such as presence maps
     */
    record OfTouches(long touchedPages, long distinctPages, long fetchedPages) implements Cost {
        /** Pages fetched for each page that a clone has touched. */
        @JsonProperty
        public double fetchedPerTouch() {
            return rounded(fetchedPages / (double) touchedPages);
        }

        /** Pages fetched for each page that any clone has touched. */
        @JsonProperty
        public double fetchedPerPage() {
            return rounded(fetchedPages / (double) distinctPages);
        }
    }

    /**
     * The memory of processes that map one snapshot.
     *
     * @param processes that map it
     * @param baseBytes of the snapshot
     * @param dirtyBytes that the processes have written, together
     * @param memoryBytes the memory of all of them: their proportional shares (Pss), and pages of the file in the page
     *     cache that none of them maps
     * @param baselineMemoryBytes the same of as many processes that map a local file; null without the baseline
     * @param fetch what the host has fetched for them
     */
    record OfSharing(
            int processes,
            long baseBytes,
            long dirtyBytes,
            long memoryBytes,
            @Nullable Long baselineMemoryBytes,
            @JsonUnwrapped OfTouches fetch)
            implements Cost {
        /** The memory in proportion to that of the snapshot, once, and of what was written. */
        @JsonProperty
        public double memoryRatio() {
            return rounded(memoryBytes / (double) (baseBytes + dirtyBytes));
        }
    }

    /** Nothing was counted. */
    record NotCounted() implements Cost {}

    private static double rounded(double ratio) {
        return Math.round(ratio * 10_000) / 10_000.0;
    }
}
