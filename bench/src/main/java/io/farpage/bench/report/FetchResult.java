package io.farpage.bench.report;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one run, named as they are in the JSON. Times are nanoseconds over all rounds together, ratios
 * are the median over the rounds of farpage ÷ baseline: below 1 is faster for latency, above 1 for throughput. Without a
 * baseline, it and the ratios are null and {@code baselineAbsent} says why.
 */
public record FetchResult(
        String name,
        String mode,
        String transport,
        int pageSize,
        int depth,
        String pattern,
        String placement,
        String idleStrategy,
        String hugepages,
        long warmup,
        int rounds,
        long count,
        long mismatches,
        long p50Ns,
        long p90Ns,
        long p99Ns,
        long p999Ns,
        long maxNs,
        double pagesPerSecond,
        @JsonUnwrapped Cost cost,
        @Nullable BaselineResult baseline,
        @Nullable String baselineAbsent,
        @Nullable Double ratioP50,
        @Nullable Double ratioP99,
        @Nullable Double ratioThroughput,
        @Nullable RatioSpreads ratioSpreads) {

    /** The baseline's figures, over all its rounds. */
    public record BaselineResult(
            String name,
            String placement,
            String hugepages,
            long count,
            long mismatches,
            long p50Ns,
            long p90Ns,
            long p99Ns,
            long p999Ns,
            long maxNs,
            double pagesPerSecond) {}

    /** How far the rounds' ratios lie apart. */
    public record RatioSpreads(Spread p50, Spread p99, Spread throughput) {}

    static FetchResult of(FetchRun run) {
        RunSettings s = run.settings();
        List<FetchRound> rounds = run.rounds();
        Histogram all = run.latencies();
        @Nullable BaselineResult baseline = null;
        @Nullable String absent = null;
        @Nullable RatioSpreads spreads = null;
        switch (run.baseline()) {
            case Baseline.Measured measured -> {
                baseline = baseline(measured);
                spreads = new RatioSpreads(
                        Spread.of(rounds, measured.rounds(), round -> round.at(50)),
                        Spread.of(rounds, measured.rounds(), round -> round.at(99)),
                        Spread.of(rounds, measured.rounds(), FetchRound::pagesPerSecond));
            }
            case Baseline.Absent(String reason) -> absent = reason;
        }
        return new FetchResult(
                s.name(),
                s.mode(),
                s.transport(),
                s.pageSize(),
                s.depth(),
                s.pattern(),
                s.placement(),
                s.idleStrategy(),
                s.hugepages(),
                s.warmup(),
                rounds.size(),
                all.getTotalCount(),
                mismatches(rounds),
                all.getValueAtPercentile(50),
                all.getValueAtPercentile(90),
                all.getValueAtPercentile(99),
                all.getValueAtPercentile(99.9),
                all.getMaxValue(),
                pagesPerSecond(rounds),
                run.cost(),
                baseline,
                absent,
                spreads == null ? null : spreads.p50().median(),
                spreads == null ? null : spreads.p99().median(),
                spreads == null ? null : spreads.throughput().median(),
                spreads);
    }

    private static BaselineResult baseline(Baseline.Measured measured) {
        Histogram all = FetchRun.merged(measured.rounds());
        return new BaselineResult(
                measured.name(),
                measured.placement(),
                measured.backing(),
                all.getTotalCount(),
                mismatches(measured.rounds()),
                all.getValueAtPercentile(50),
                all.getValueAtPercentile(90),
                all.getValueAtPercentile(99),
                all.getValueAtPercentile(99.9),
                all.getMaxValue(),
                pagesPerSecond(measured.rounds()));
    }

    private static long mismatches(List<FetchRound> rounds) {
        return rounds.stream().mapToLong(FetchRound::mismatches).sum();
    }

    private static double pagesPerSecond(List<FetchRound> rounds) {
        double seconds = rounds.stream()
                .mapToDouble(round -> round.elapsed().toNanos() / 1e9)
                .sum();
        long count = rounds.stream()
                .mapToLong(round -> round.latencies().getTotalCount())
                .sum();
        return tenths(count / seconds);
    }

    private static double tenths(double figure) {
        return Math.round(10 * figure) / 10.0;
    }
}
