package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

@Tag("portable")
final class ReportFilesTest {
    private static final FetchReport REPORT = SampleReport.threeRuns();

    @TempDir
    private Path directory;

    @Test
    void shouldWriteEveryFileWholeAndNothingElse() throws IOException {
        Files.writeString(directory.resolve("fetch.json"), "from an earlier run");
        List<Path> written = ReportFiles.write(REPORT, directory);
        try (Stream<Path> found = Files.list(directory)) {
            assertEquals(
                    written.stream().sorted().toList(),
                    found.sorted().toList(),
                    "no temporary file may be left behind");
        }
        assertEquals(8, written.size());
    }

    @Test
    void shouldPutTheHeadlineFiguresAtTheTopOfTheJson() throws IOException {
        ReportFiles.write(REPORT, directory);
        JsonNode json = ReportJson.MAPPER.readTree(Files.readString(directory.resolve("fetch.json")));
        Histogram expected = REPORT.runs().getFirst().latencies();
        assertEquals("soft", json.get("transport").asString());
        assertEquals(4096, json.get("pageSize").asInt());
        assertEquals(1, json.get("depth").asInt());
        assertEquals("random", json.get("pattern").asString());
        assertEquals("client cpu 0, server cpu 1", json.get("placement").asString());
        assertEquals(200_000, json.get("count").asLong());
        assertEquals(0, json.get("mismatches").asLong());
        assertEquals(expected.getValueAtPercentile(50), json.get("p50Ns").asLong());
        assertEquals(expected.getValueAtPercentile(90), json.get("p90Ns").asLong());
        assertEquals(expected.getValueAtPercentile(99), json.get("p99Ns").asLong());
        assertEquals(expected.getValueAtPercentile(99.9), json.get("p999Ns").asLong());
        assertEquals(expected.getMaxValue(), json.get("maxNs").asLong());
        assertEquals(90_000, json.get("pagesPerSecond").asDouble(), 1);
        assertEquals("c-tcp-spin", json.at("/baseline/name").asString());
        assertEquals(92_700, json.at("/baseline/pagesPerSecond").asDouble(), 1);
        assertTrue(json.at("/baseline/p50Ns").asLong() > 8_000);
        assertTrue(json.at("/baseline/p99Ns").asLong() > 8_000);
        assertEquals(9_100.0 / 8_800, json.at("/ratioP50/median").asDouble(), 0.01);
        assertTrue(json.at("/ratioP99/median").asDouble() > 0.5);
        assertEquals(1 / 1.03, json.at("/ratioThroughput/median").asDouble(), 0.001);
        assertTrue(json.at("/ratioP50/low").isNull(), "five rounds have no interval");
        assertEquals(
                "round 3: baseline: it waited", json.at("/screening/dropped/0").asString());
    }

    @Test
    void shouldGiveEveryRunAndTheConditionsInTheJson() throws IOException {
        ReportFiles.write(REPORT, directory);
        JsonNode json = ReportJson.MAPPER.readTree(Files.readString(directory.resolve("fetch.json")));
        assertEquals(
                List.of("latency-spin", "latency-block", "throughput"),
                json.get("runs")
                        .valueStream()
                        .map(run -> run.get("name").asString())
                        .toList());
        assertEquals(64, json.at("/runs/2/depth").asInt());
        assertEquals("2026-01-02T03:04:05Z", json.at("/conditions/startedAt").asString());
        assertEquals("-XX:+UseSerialGC", json.at("/conditions/jvmFlags/0").asString());
        assertEquals("0123456789ab", json.at("/conditions/gitRevision").asString());
    }

    @Test
    void shouldWritePercentilesInNanoseconds() throws IOException {
        ReportFiles.write(REPORT, directory);
        List<String> lines = Files.readAllLines(directory.resolve("fetch-throughput-baseline.hgrm"));
        assertTrue(lines.getFirst().contains("Percentile"), lines.getFirst());
        double median = lines.stream()
                .map(line -> line.strip().split("\\s+"))
                .filter(words -> words.length >= 3 && words[1].startsWith("0.5000"))
                .mapToDouble(words -> Double.parseDouble(words[0]))
                .findFirst()
                .orElseThrow();
        assertEquals(84_000, median, 1_500);
        assertTrue(lines.stream().anyMatch(line -> line.contains("Total count    =       200000")));
    }

    @Test
    void shouldCarryItsDataInsideThePageAndLoadNothing() throws IOException {
        ReportFiles.write(REPORT, directory);
        String page = Files.readString(directory.resolve("fetch.html"));
        Matcher data = Pattern.compile("<script id=\"data\" type=\"application/json\">(.*?)</script>", Pattern.DOTALL)
                .matcher(page);
        assertTrue(data.find());
        JsonNode json = ReportJson.MAPPER.readTree(data.group(1));
        assertEquals("-Dquoted=\"</script>\"", json.at("/conditions/jvmFlags/1").asString());
        assertEquals(3, json.get("curves").size());
        JsonNode curve = json.at("/curves/0/farpage");
        assertEquals(100, curve.get(curve.size() - 1).get(0).asDouble());
        assertFalse(Pattern.compile("(src|href)\\s*=|@import|url\\(\\s*['\"]?(http|//)")
                .matcher(page)
                .find());
        assertFalse(page.contains("/*STYLE*/") || page.contains("/*SCRIPT*/") || page.contains("/*DATA*/"));
    }

    @Test
    void shouldGiveTheReasonWhenThereIsNoBaseline() throws IOException {
        FetchReport report = withoutBaseline();
        ReportFiles.write(report, directory);
        JsonNode json = ReportJson.MAPPER.readTree(Files.readString(directory.resolve("fetch.json")));
        assertTrue(json.get("baseline").isNull());
        assertTrue(json.get("ratioP50").isNull());
        assertEquals("no C compiler", json.get("baselineAbsent").asString());
        assertTrue(ReportTable.render(report).contains("no baseline: no C compiler"));
    }

    @Test
    void shouldHeadEachRunOfTheTableWithItsSettings() {
        String table = ReportTable.render(REPORT);
        assertTrue(
                table.contains("throughput: soft, 4 KiB pages, depth 64, random; client cpu 0, server cpu 1"), table);
        assertTrue(table.contains("ratio, median of 5 rounds"), table);
        assertTrue(table.contains("1 of 6 rounds dropped; judged by CPU pressure"), table);
        assertTrue(table.contains("    round 3: baseline: it waited"), table);
        assertTrue(table.contains("690,000"), table);
    }

    @Test
    void shouldPrintTheIntervalBesideTheMedianFromSixRoundsOn() {
        FetchReport report = report(new Screening(9, List.of(), "CPU pressure"), 9);
        assertTrue(ReportTable.render(report)
                .contains("ratio, median of 9 rounds (95 % interval): p50 1.00× (1.00..1.00)"));
    }

    @Test
    void shouldSayPlainlyWhenTooFewRoundsRemain() {
        String table = ReportTable.render(report(new Screening(9, List.of("round 2: busy"), "CPU pressure"), 7));
        assertTrue(table.contains("TOO FEW ROUNDS REMAIN: 7 of the 9 asked for"), table);
    }

    private static FetchReport report(Screening screening, int count) {
        List<FetchRound> rounds =
                Collections.nCopies(count, SampleReport.rounds(1, 9_000, 90_000).getFirst());
        FetchRun run = new FetchRun(
                SampleReport.settings("latency-spin", "latency", 1),
                rounds,
                new Baseline.Measured("c-tcp-spin", "spin", "4K", rounds),
                SampleReport.COST,
                screening);
        return new FetchReport(Subject.FETCH, SampleReport.CONDITIONS, List.of(run), List.of());
    }

    @Test
    void shouldRefuseABaselineWithFewerRoundsThanTheRun() {
        List<FetchRound> rounds = SampleReport.rounds(1, 9_000, 90_000);
        Baseline fewer = new Baseline.Measured("c-tcp-spin", "spin", "4K", rounds.subList(0, 4));
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> new FetchRun(
                        SampleReport.settings("latency-spin", "latency", 1),
                        rounds,
                        fewer,
                        SampleReport.COST,
                        SampleReport.SCREENING));
        assertTrue(refused.toString().contains("5 rounds, its baseline 4"), refused.toString());
    }

    private static FetchReport withoutBaseline() {
        return new FetchReport(
                Subject.FETCH,
                SampleReport.CONDITIONS,
                List.of(new FetchRun(
                        SampleReport.settings("latency-spin", "latency", 1),
                        SampleReport.rounds(1, 9_000, 90_000),
                        new Baseline.Absent("no C compiler"),
                        SampleReport.COST,
                        SampleReport.SCREENING)),
                List.of());
    }
}
