package io.farpage.bench.report;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one run, named as they are in the JSON. Times are nanoseconds over all rounds together, ratios are the
 * median over the rounds of farpage ÷ baseline: below 1 is faster for latency, above 1 for throughput. Without a
 * baseline, it and the ratios are null and {@code baselineAbsent} says why; so are the latencies, and their ratios, of
 * a baseline that tells its rate alone.
 */
public record FetchResult(
        @JsonUnwrapped RunSettings settings,
        int rounds,
        @JsonUnwrapped Figures figures,
        @JsonUnwrapped Cost cost,
        @Nullable BaselineResult baseline,
        @Nullable String baselineAbsent,
        @Nullable Double ratioP50,
        @Nullable Double ratioP99,
        @Nullable Double ratioThroughput,
        @Nullable RatioSpreads ratioSpreads) {

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

    /** How far the rounds' ratios lie apart. */
    public record RatioSpreads(
            @Nullable Spread p50, @Nullable Spread p99, Spread throughput) {}

    static FetchResult of(FetchRun run) {
        List<FetchRound> rounds = run.rounds();
        @Nullable BaselineResult baseline = null;
        @Nullable String absent = null;
        @Nullable RatioSpreads spreads = null;
        switch (run.baseline()) {
            case Baseline.Measured(String name, String placement, String backing, List<FetchRound> theirs) -> {
                baseline = new BaselineResult(name, placement, backing, Figures.of(theirs));
                spreads = new RatioSpreads(
                        Spread.of(rounds, theirs, round -> round.at(50)),
                        Spread.of(rounds, theirs, round -> round.at(99)),
                        Spread.of(rounds, theirs, FetchRound::pagesPerSecond));
            }
            case Baseline.Rated(String name, String placement, String backing, List<Rate> rates) -> {
                baseline = new BaselineResult(name, placement, backing, Figures.ofRates(rates));
                spreads = new RatioSpreads(
                        null, null, Spread.of(rounds, FetchRound::pagesPerSecond, rates, Rate::pagesPerSecond));
            }
            case Baseline.Absent(String reason) -> absent = reason;
        }
        return new FetchResult(
                run.settings(),
                rounds.size(),
                Figures.of(rounds),
                run.cost(),
                baseline,
                absent,
                spreads == null ? null : median(spreads.p50()),
                spreads == null ? null : median(spreads.p99()),
                spreads == null ? null : spreads.throughput().median(),
                spreads);
    }

    private static @Nullable Double median(@Nullable Spread spread) {
        return spread == null ? null : spread.median();
    }
}
