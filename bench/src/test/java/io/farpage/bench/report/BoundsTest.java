package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.report.Bounds.Figure;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class BoundsTest {
    private static final FetchReport REPORT = new FetchReport(
            Subject.FETCH,
            SampleReport.CONDITIONS,
            List.of(SampleReport.run("latency-spin", "latency", 1, 9_900, 9_000, 90_000), rated(90_000, 100_000)),
            List.of());

    /** A run at depth whose baseline tells its rate alone. */
    private static FetchRun rated(double ours, double baseline) {
        return new FetchRun(
                SampleReport.settings("throughput-spin", "throughput", 16),
                SampleReport.rounds(3, 88_000, ours),
                new Baseline.Rated(
                        "ib_read_bw", "client cpu 0", "one buffer", Collections.nCopies(5, new Rate(10_000, baseline))),
                SampleReport.COST,
                SampleReport.SCREENING);
    }

    @Test
    void shouldReportNothingWhenAllFiguresAreWithinBounds() {
        assertEquals(
                List.of(),
                new Bounds(Map.of(Figure.P50, 1.15, Figure.THROUGHPUT, 0.89, Figure.ALLOCATED, 0.0)).exceeded(REPORT));
    }

    @Test
    void shouldNameTheRunTheFigureAndTheLimitOfWhatLiesOutside() {
        assertEquals(
                List.of("throughput-spin: throughput is 0.900, and must be at least 0.950"),
                new Bounds(Map.of(Figure.THROUGHPUT, 0.95)).exceeded(REPORT));
        List<String> slow = new Bounds(Map.of(Figure.P50, 1.05)).exceeded(REPORT);
        assertEquals(1, slow.size());
        assertTrue(
                slow.getFirst().matches("latency-spin: p50 is 1\\.1\\d\\d?, and must be at most 1\\.050"),
                slow.getFirst());
    }

    @Test
    void shouldReportRatiosAsExceededWhenThereIsNoBaseline() {
        FetchReport alone = new FetchReport(
                Subject.FETCH,
                SampleReport.CONDITIONS,
                List.of(new FetchRun(
                        SampleReport.settings("latency-spin", "latency", 1),
                        SampleReport.rounds(1, 9_000, 90_000),
                        new Baseline.Absent("perftest is not installed"),
                        SampleReport.COST,
                        SampleReport.SCREENING)),
                List.of());
        assertEquals(
                List.of("latency-spin: p50 has no baseline to be held against: perftest is not installed"),
                new Bounds(Map.of(Figure.P50, 1.1)).exceeded(alone));
    }

    @Test
    void shouldShowARateWithoutLatencies() {
        String table = ReportTable.render(REPORT);
        assertTrue(
                table.contains("ratio, median of 5 rounds (no 95 % interval: that takes 6 rounds): p50 not known,"
                        + " p99 not known, throughput 0.90×"),
                table);
        FetchResult run = REPORT.results().get(1);
        assertEquals(new Ratio(0.9, null, null), run.ratioThroughput());
        assertNull(run.ratioP50());
    }
}
