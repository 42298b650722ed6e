package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        assertEquals(9_100.0 / 8_800, json.get("ratioP50").asDouble(), 0.01);
        assertTrue(json.get("ratioP99").asDouble() > 0.5);
        assertEquals(1 / 1.03, json.get("ratioThroughput").asDouble(), 0.001);
        assertTrue(json.at("/ratioSpreads/p50/min").asDouble()
                <= json.at("/ratioSpreads/p50/max").asDouble());
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
        assertTrue(table.contains("690,000"), table);
    }

    @Test
    void shouldRefuseABaselineWithFewerRoundsThanTheRun() {
        List<FetchRound> rounds = SampleReport.rounds(1, 9_000, 90_000);
        Baseline fewer = new Baseline.Measured("c-tcp-spin", "spin", "4K", rounds.subList(0, 4));
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> new FetchRun(
                        SampleReport.settings("latency-spin", "latency", 1), rounds, fewer, SampleReport.COST));
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
                        SampleReport.COST)),
                List.of());
    }
}
