package io.farpage.bench.report;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one run, named as they are in the JSON. Times are nanoseconds over all rounds that count together,
 * ratios are farpage ÷ baseline: below 1 is faster for latency, above 1 for throughput. Without a baseline, it and the
 * ratios are null and {@code baselineAbsent} says why; so are the latencies, and their ratios, of a baseline that tells
 * its rate alone.
 */
public record FetchResult(
        @JsonUnwrapped RunSettings settings,
        int rounds,
        Screening screening,
        @JsonUnwrapped Figures figures,
        @JsonUnwrapped Cost cost,
        @Nullable BaselineResult baseline,
        @Nullable String baselineAbsent,
        @Nullable Ratio ratioP50,
        @Nullable Ratio ratioP99,
        @Nullable Ratio ratioThroughput) {

    /** What one side did, over all its rounds; the latencies are null if that side tells its rate alone. */
    public record Figures(
            long count,
            long mismatches,
            @Nullable Long p50Ns,
            @Nullable Long p90Ns,
            @Nullable Long p99Ns,
            @Nullable Long p999Ns,
            @Nullable Long maxNs,
            double pagesPerSecond) {
        static Figures of(List<FetchRound> rounds) {
            Histogram all = FetchRun.merged(rounds);
            return new Figures(
                    all.getTotalCount(),
                    rounds.stream().mapToLong(FetchRound::mismatches).sum(),
                    all.getValueAtPercentile(50),
                    all.getValueAtPercentile(90),
                    all.getValueAtPercentile(99),
                    all.getValueAtPercentile(99.9),
                    all.getMaxValue(),
                    perSecond(
                            all.getTotalCount(),
                            rounds.stream()
                                    .mapToDouble(round -> round.elapsed().toNanos() / 1e9)
                                    .sum()));
        }

        static Figures ofRates(List<Rate> rates) {
            long count = rates.stream().mapToLong(Rate::count).sum();
            double seconds = rates.stream()
                    .mapToDouble(rate -> rate.count() / rate.pagesPerSecond())
                    .sum();
            return new Figures(count, 0, null, null, null, null, null, perSecond(count, seconds));
        }

        private static double perSecond(long count, double seconds) {
            return Math.round(10 * (count / seconds)) / 10.0;
        }
    }

    /** The baseline and its figures. */
    public record BaselineResult(
            String name,
            String placement,
            String hugepages,
            @JsonUnwrapped Figures figures) {}

    static FetchResult of(FetchRun run) {
        List<FetchRound> rounds = run.rounds();
        return switch (run.baseline()) {
            case Baseline.Measured(String name, String placement, String backing, List<FetchRound> theirs) ->
                of(
                        run,
                        new BaselineResult(name, placement, backing, Figures.of(theirs)),
                        null,
                        Ratio.of(rounds, round -> round.at(50), theirs, round -> round.at(50)),
                        Ratio.of(rounds, round -> round.at(99), theirs, round -> round.at(99)),
                        Ratio.of(rounds, Turn::pagesPerSecond, theirs, Turn::pagesPerSecond));
            case Baseline.Rated(String name, String placement, String backing, List<Rate> rates) ->
                of(
                        run,
                        new BaselineResult(name, placement, backing, Figures.ofRates(rates)),
                        null,
                        null,
                        null,
                        Ratio.of(rounds, Turn::pagesPerSecond, rates, Turn::pagesPerSecond));
            case Baseline.Absent(String reason) -> of(run, null, reason, null, null, null);
        };
    }

    private static FetchResult of(
            FetchRun run,
            @Nullable BaselineResult baseline,
            @Nullable String absent,
            @Nullable Ratio p50,
            @Nullable Ratio p99,
            @Nullable Ratio throughput) {
        return new FetchResult(
                run.settings(),
                run.rounds().size(),
                run.screening(),
                Figures.of(run.rounds()),
                run.cost(),
                baseline,
                absent,
                p50,
                p99,
                throughput);
    }
}
