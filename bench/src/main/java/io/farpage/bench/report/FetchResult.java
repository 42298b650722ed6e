package io.farpage.bench.report;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one run, named as they are in the JSON. Times are nanoseconds over all rounds together, ratios
 * are the median over the rounds of farpage ÷ baseline: below 1 is faster for latency, above 1 for throughput. Without a
 * baseline, it and the ratios are null and {@code baselineAbsent} says why; so are the latencies, and their ratios, of a baseline that
 * tells its rate alone.
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
            @Nullable Long p50Ns,
            @Nullable Long p90Ns,
            @Nullable Long p99Ns,
            @Nullable Long p999Ns,
            @Nullable Long maxNs,
            double pagesPerSecond) {}

    /** How far the rounds' ratios lie apart. */
    public record RatioSpreads(
            @Nullable Spread p50, @Nullable Spread p99, Spread throughput) {}

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
            case Baseline.Rated rated -> {
                baseline = baseline(rated);
                spreads = new RatioSpreads(
                        null,
                        null,
                        Spread.of(rounds, FetchRound::pagesPerSecond, rated.rounds(), Rate::pagesPerSecond));
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
                spreads == null ? null : median(spreads.p50()),
                spreads == null ? null : median(spreads.p99()),
                spreads == null ? null : spreads.throughput().median(),
                spreads);
    }

    private static @Nullable Double median(@Nullable Spread spread) {
        return spread == null ? null : spread.median();
    }

    private static BaselineResult baseline(Baseline.Rated rated) {
        long count = rated.rounds().stream().mapToLong(Rate::count).sum();
        double seconds = rated.rounds().stream()
                .mapToDouble(rate -> rate.count() / rate.pagesPerSecond())
                .sum();
        return new BaselineResult(
                rated.name(),
                rated.placement(),
                rated.backing(),
                count,
                0,
                null,
                null,
                null,
                null,
                null,
                tenths(count / seconds));
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
