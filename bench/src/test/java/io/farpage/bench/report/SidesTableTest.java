package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
final class SidesTableTest {
    private static FetchRun run(String name, String idle, long typicalNs) {
        RunSettings settings = new RunSettings(
                name, "fault", "tcp", 4096, 1, "random", "handler cpu 0, home cpu 1", idle, "its memory", 0);
        return new FetchRun(
                settings,
                rounds(typicalNs),
                new Baseline.Measured("c-server", "handler cpu 0", "4K", rounds(10_000)),
                new Cost.NotCounted(),
                new Screening(7, List.of("round 2: memcached: it waited"), "CPU pressure"));
    }

    private static List<FetchRound> rounds(long typicalNs) {
        return Collections.nCopies(7, SampleReport.rounds(1, typicalNs, 90_000).getFirst());
    }

    @Test
    void shouldShowTheServerInCOnceForEachIdleStrategyAndAllRatios() {
        String table = ReportTable.render(new FetchReport(
                Subject.PEERS,
                SampleReport.CONDITIONS,
                List.of(
                        run("memcached-spin", "spin", 20_000),
                        run("farpage-spin", "spin", 10_000),
                        run("memcached-block", "block", 30_000)),
                List.of()));
        List<String> lines = table.lines().toList();
        assertTrue(lines.getFirst().startsWith("spin: 4 KiB pages, random; handler cpu 0"), table);
        assertTrue(lines.getFirst().endsWith("ratios are medians of 7 rounds with their 95 % intervals"), table);
        assertTrue(lines.get(2).startsWith("  c-server "), table);
        assertTrue(
                lines.get(3)
                        .matches("  memcached .* 2\\.00× \\(2\\.00\\.\\.2\\.00\\) .*1\\.00× \\(1\\.00\\.\\.1\\.00\\)"),
                table);
        assertTrue(lines.get(4).contains("1.00× (1.00..1.00)"), table);
        assertTrue(lines.get(5).contains("1 of 8 rounds dropped"), table);
        assertTrue(lines.get(6).contains("round 2: memcached: it waited"), table);
        assertTrue(lines.stream().filter(line -> line.startsWith("  c-server ")).count() == 2, table);
    }

    @Test
    void shouldCompareEachRunWithItsOwnBaseline() {
        FetchRun first = run("clean-read-block", "block", 40_000);
        FetchRun second = new FetchRun(
                new RunSettings("write-3-to-1-block", "fault", "soft", 4096, 1, "random", "cpu 0", "block", "4K", 0),
                rounds(30_000),
                new Baseline.Measured("write-1-sharer", "cpu 0", "4K", rounds(20_000)),
                new Cost.NotCounted(),
                first.screening());
        String table = ReportTable.render(
                new FetchReport(Subject.COHERENT, SampleReport.CONDITIONS, List.of(first, second), List.of()));
        List<String> lines = table.lines().toList();
        assertTrue(lines.get(3).matches("  clean-read .* c-server +4\\.00× .*"), table);
        assertTrue(lines.get(4).matches("  write-3-to-1 .* write-1-sharer +1\\.50× .*"), table);
        assertTrue(lines.get(5).contains("bounded by the %d CPUs".formatted(SampleReport.CONDITIONS.cpus())), table);
    }
}
