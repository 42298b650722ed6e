package io.farpage.bench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A report on sides that all take turns: a table for each idle strategy. Its first row is what the first run is
 * compared with; of each run it says what that is.
 */
final class SidesTable {
    private static final String ROW = "  %-18s %9s %9s %11s   %-17s %-20s %-20s %-20s";

    private SidesTable() {}

    static String render(FetchReport report) {
        Map<String, List<FetchResult>> byIdle = report.results().stream()
                .collect(Collectors.groupingBy(
                        run -> run.settings().idleStrategy(), LinkedHashMap::new, Collectors.toList()));
        List<String> lines = new ArrayList<>();
        byIdle.forEach((idle, runs) -> {
            FetchResult first = runs.getFirst();
            RunSettings settings = first.settings();
            lines.add("%s: %s pages, %s; %s; ratios are medians of %d rounds%s"
                    .formatted(
                            idle,
                            ReportTable.bytes(settings.pageSize()),
                            settings.pattern(),
                            settings.placement(),
                            first.rounds(),
                            first.rounds() < Ratio.FEWEST
                                    ? ", without 95 % interval: that takes " + Ratio.FEWEST + " rounds"
                                    : " with their 95 % intervals"));
            lines.add(stripped(ROW.formatted(
                    "", "p50 µs", "p99 µs", "pages/s", "compared with", "ratio of p50", "ratio of p99", "of pages/s")));
            FetchResult.BaselineResult baseline = first.baseline();
            if (baseline != null) {
                lines.add(row(baseline.name(), baseline.figures(), "", "", "", ""));
            }
            for (FetchResult run : runs) {
                FetchResult.BaselineResult other = run.baseline();
                lines.add(row(
                        run.settings().name().replace("-" + idle, ""),
                        run.figures(),
                        other == null ? "" : other.name(),
                        ReportTable.ratio(run.ratioP50()),
                        ReportTable.ratio(run.ratioP99()),
                        ReportTable.ratio(run.ratioThroughput())));
            }
            if (report.subject() == Subject.COHERENT) {
                lines.add("  sum-2-nodes is bounded by the %d CPUs that all agents and threads share"
                        .formatted(report.conditions().cpus()));
            }
            ReportTable.explain(first.rounds(), first.screening(), lines);
            lines.add("  every page held what it should");
            lines.add("");
        });
        return String.join("\n", lines);
    }

    private static String row(
            String name, FetchResult.Figures figures, String other, String p50, String p99, String throughput) {
        return stripped(ROW.formatted(
                name,
                ReportTable.micros(figures.p50Ns()),
                ReportTable.micros(figures.p99Ns()),
                ReportTable.grouped(Math.round(figures.pagesPerSecond())),
                other,
                p50,
                p99,
                throughput));
    }

    private static String stripped(String line) {
        return line.stripTrailing();
    }
}
