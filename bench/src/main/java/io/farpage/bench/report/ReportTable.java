package io.farpage.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The report as a table for a terminal, 100 columns wide; each run is headed by what its figures depend on. */
public final class ReportTable {
    private static final String ROW = "  %-22s %9s %9s %9s %9s %10s %12s %11s";

    private ReportTable() {}

    /** The whole table, lines ended by newlines. Latencies are in microseconds. */
    public static String render(FetchReport report) {
        if (report.subject() == Subject.PEERS || report.subject() == Subject.COHERENT) {
            return SidesTable.render(report);
        }
        List<String> lines = new ArrayList<>();
        for (FetchResult result : report.results()) {
            RunSettings settings = result.settings();
            lines.add("%s: %s, %s pages, depth %d, %s; %s; idle %s; pages in %s"
                    .formatted(
                            settings.name(),
                            settings.transport(),
                            bytes(settings.pageSize()),
                            settings.depth(),
                            settings.pattern(),
                            settings.placement(),
                            settings.idleStrategy(),
                            settings.hugepages()));
            lines.add(ROW.formatted(
                    "", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs", "pages/s", count(report.subject())));
            lines.add(row("farpage " + settings.transport(), result.figures()));
            compare(result, lines);
            explain(result.rounds(), result.screening(), lines);
            switch (result.cost()) {
                case Cost.OfFetches fetches -> explain(fetches, lines);
                case Cost.OfFaults faults -> explain(faults, lines);
                case Cost.OfStarts starts -> explain(starts, lines);
                case Cost.OfTouches touches -> explain(touches, lines);
                case Cost.OfSharing sharing -> explain(sharing, lines);
                case Cost.NotCounted _ -> {}
            }
            lines.add(
                    result.figures().mismatches() == 0
                            ? "  every page held what it should"
                            : "  %s PAGES DID NOT HOLD WHAT THEY SHOULD"
                                    .formatted(grouped(result.figures().mismatches())));
            lines.add("");
        }
        return String.join("\n", lines);
    }

    private static void explain(Cost.OfFetches cost, List<String> lines) {
        lines.add(String.format(
                Locale.ROOT,
                "  per fetch: %.3f B allocated by the fetching thread, %.1f µs of CPU in the fetching process",
                cost.allocatedBytesPerFetch(),
                cost.cpuNsPerFetch() / 1000));
        if (cost.replays() > 0) {
            lines.add("  the link was lost meanwhile: %s fetches were asked again".formatted(grouped(cost.replays())));
        }
    }

    private static void explain(Cost.OfFaults cost, List<String> lines) {
        Double rate = cost.prefetchHitRate();
        lines.add(String.format(
                Locale.ROOT,
                "  in the agent, p50: %s µs from seeing a fault to having its page, %s µs to install it; %s faults,"
                        + " %s evictions%s",
                micros(cost.fetchP50Ns()),
                micros(cost.installP50Ns()),
                grouped(cost.faults()),
                grouped(cost.evictions()),
                rate == null ? "" : String.format(Locale.ROOT, ", %.1f %% of prefetched pages used", 100 * rate)));
    }

    private static void explain(Cost.OfStarts cost, List<String> lines) {
        lines.add("  p50: %s µs to make the clone and attach it, %s µs from the handoff to the first page"
                .formatted(micros(cost.attachP50Ns()), micros(cost.touchP50Ns())));
    }

    private static void explain(Cost.OfTouches cost, List<String> lines) {
        lines.add(String.format(
                Locale.ROOT,
                "  fetched by this host: %s pages for %s touches of %s pages, %.3f a touch and %.3f a page",
                grouped(cost.fetchedPages()),
                grouped(cost.touchedPages()),
                grouped(cost.distinctPages()),
                cost.fetchedPerTouch(),
                cost.fetchedPerPage()));
    }

    private static void explain(Cost.OfSharing cost, List<String> lines) {
        Long baseline = cost.baselineMemoryBytes();
        lines.add(String.format(
                Locale.ROOT,
                "  memory of %d processes: %.1f MiB, %.3f of base + dirty (%.1f + %.1f MiB)%s",
                cost.processes(),
                mebibytes(cost.memoryBytes()),
                cost.memoryRatio(),
                mebibytes(cost.baseBytes()),
                mebibytes(cost.dirtyBytes()),
                baseline == null
                        ? ""
                        : String.format(Locale.ROOT, "; with the local file %.1f MiB", mebibytes(baseline))));
        explain(cost.fetch(), lines);
    }

    private static double mebibytes(long bytes) {
        return bytes / (double) (1 << 20);
    }

    private static void compare(FetchResult result, List<String> lines) {
        FetchResult.BaselineResult baseline = result.baseline();
        if (baseline == null) {
            lines.add("  no baseline: " + result.baselineAbsent());
            return;
        }
        lines.add(row(baseline.name(), baseline.figures()));
        lines.add("  ratio, median of %d rounds (%s): p50 %s, p99 %s, throughput %s"
                .formatted(
                        result.rounds(),
                        result.rounds() < Ratio.FEWEST
                                ? "no 95 % interval: that takes " + Ratio.FEWEST + " rounds"
                                : "95 % interval",
                        ratio(result.ratioP50()),
                        ratio(result.ratioP99()),
                        ratio(result.ratioThroughput())));
    }

    static void explain(int rounds, Screening screening, List<String> lines) {
        lines.add("  %d of %d rounds dropped; judged by %s"
                .formatted(
                        screening.dropped().size(), rounds + screening.dropped().size(), screening.judgedBy()));
        screening.dropped().forEach(reason -> lines.add("    " + reason));
        if (rounds < screening.asked()) {
            lines.add("  TOO FEW ROUNDS REMAIN: %d of the %d asked for; run it again when the machine is less busy"
                    .formatted(rounds, screening.asked()));
        }
    }

    private static String row(String name, FetchResult.Figures figures) {
        return ROW.formatted(
                name,
                micros(figures.p50Ns()),
                micros(figures.p90Ns()),
                micros(figures.p99Ns()),
                micros(figures.p999Ns()),
                micros(figures.maxNs()),
                grouped(Math.round(figures.pagesPerSecond())),
                grouped(figures.count()));
    }

    private static String count(Subject subject) {
        return switch (subject) {
            case FETCH -> "fetches";
            case FAULT, PEERS, CLONE, COHERENT -> "touches";
        };
    }

    static String ratio(@Nullable Ratio ratio) {
        if (ratio == null) {
            return "not known";
        }
        Double low = ratio.low();
        Double high = ratio.high();
        return low == null || high == null
                ? String.format(Locale.ROOT, "%.2f×", ratio.median())
                : String.format(Locale.ROOT, "%.2f× (%.2f..%.2f)", ratio.median(), low, high);
    }

    static String micros(@Nullable Long ns) {
        return ns == null ? "" : String.format(Locale.ROOT, ns < 100_000 ? "%.2f" : "%,.0f", ns / 1000.0);
    }

    static String grouped(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    static String bytes(int size) {
        return size >= 1 << 20 ? (size >> 20) + " MiB" : (size >> 10) + " KiB";
    }
}
