package io.farpage.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How far a report may lie from its baselines. Latencies are held to their bounds where one page is fetched at a time,
 * the throughput where several are.
 *
 * @param limits by figure, each a ratio except {@link Figure#ALLOCATED}
 */
public record Bounds(Map<Figure, Double> limits) {
    /** What can be bounded. */
    public enum Figure {
        /** At most, of the baseline's. */
        P50,
        /** At most, of the baseline's. */
        P99,
        /** At least, of the baseline's. */
        THROUGHPUT,
        /** At most, in bytes per fetch. */
        ALLOCATED
    }

    private static final String LATENCY = "latency";

    public Bounds {
        limits = Map.copyOf(limits);
    }

    /** What lies outside, a line each; empty if nothing does. */
    public List<String> exceeded(FetchReport report) {
        List<String> found = new ArrayList<>();
        for (FetchResult run : report.results()) {
            limits.forEach((figure, limit) -> {
                boolean latency = run.settings().mode().equals(LATENCY);
                switch (figure) {
                    case P50 -> check(found, run, figure, latency, median(run.ratioP50()), limit);
                    case P99 -> check(found, run, figure, latency, median(run.ratioP99()), limit);
                    case THROUGHPUT -> check(found, run, figure, !latency, median(run.ratioThroughput()), limit);
                    case ALLOCATED -> check(found, run, figure, true, allocated(run), limit);
                }
            });
        }
        return found;
    }

    private static @Nullable Double median(@Nullable Ratio ratio) {
        return ratio == null ? null : ratio.median();
    }

    private static @Nullable Double allocated(FetchResult run) {
        return switch (run.cost()) {
            case Cost.OfFetches fetches -> fetches.allocatedBytesPerFetch();
            case Cost.OfFaults _, Cost.OfStarts _, Cost.OfTouches _, Cost.OfSharing _, Cost.NotCounted _ -> null;
        };
    }

    private static void check(
            List<String> found, FetchResult run, Figure figure, boolean applies, @Nullable Double value, double limit) {
        String name = run.settings().name() + ": " + figure.name().toLowerCase(Locale.ROOT);
        if (!applies) {
            return;
        }
        if (value == null) {
            found.add(name + " has no baseline to be held against: " + run.baselineAbsent());
        } else if (figure == Figure.THROUGHPUT ? value < limit : value > limit) {
            found.add(String.format(
                    Locale.ROOT,
                    "%s is %.3f, and must be %s %.3f",
                    name,
                    value,
                    figure == Figure.THROUGHPUT ? "at least" : "at most",
                    limit));
        }
    }
}
