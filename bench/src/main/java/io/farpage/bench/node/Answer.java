package io.farpage.bench.node;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.farpage.bench.report.FetchRound;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** What the fetching node says, a line for each order and one before. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "answer")
@JsonSubTypes({
    @JsonSubTypes.Type(value = Answer.Ready.class, name = "ready"),
    @JsonSubTypes.Type(value = Answer.Filled.class, name = "filled"),
    @JsonSubTypes.Type(value = Answer.Round.class, name = "round"),
    @JsonSubTypes.Type(value = Answer.Failed.class, name = "failed")
})
public sealed interface Answer {
    /**
     * The link is up.
     *
     * @param transport that carries the pages: soft or ibverbs
     * @param why the choice of transport and its reason
     */
    record Ready(String transport, String why) implements Answer {}

    /**
     * Every page was written and fetched.
     *
     * @param mismatches how many pages did not hold what they should
     * @param firstMismatch the first of them, for people; empty if there was none
     */
    record Filled(long pages, long mismatches, String firstMismatch) implements Answer {}

    /**
     * What a run gave.
     *
     * @param elapsedNs from the first request to the end of checking the last page
     * @param allocatedBytes by the shard's thread meanwhile
     * @param cpuNs CPU time of the whole process meanwhile
     * @param compiledMs what the JIT compiler spent meanwhile on what it finished meanwhile, in milliseconds
     * @param replays fetches that had to be asked again because the link was lost
     * @param latencies as [nanoseconds, how many]
     */
    record Round(
            long count,
            long mismatches,
            String firstMismatch,
            long elapsedNs,
            long allocatedBytes,
            long cpuNs,
            long compiledMs,
            long replays,
            List<long[]> latencies)
            implements Answer {
        /** As reports take it. */
        public FetchRound measured() {
            Histogram histogram = FetchRound.newHistogram();
            latencies.forEach(
                    bucket -> histogram.recordValueWithCount(Math.min(bucket[0], FetchRound.LONGEST_NS), bucket[1]));
            return new FetchRound(histogram, mismatches, Duration.ofNanos(elapsedNs));
        }

        static List<long[]> buckets(Histogram histogram) {
            List<long[]> buckets = new ArrayList<>();
            for (HistogramIterationValue value : histogram.recordedValues()) {
                buckets.add(new long[] {value.getValueIteratedTo(), value.getCountAtValueIteratedTo()});
            }
            return buckets;
        }
    }

    /** The order could not be carried out; the node ends. */
    record Failed(String reason) implements Answer {}
}
