package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@Tag("portable")
final class CloneReportTest {
    private static final long MIB = 1 << 20;

    private static FetchReport report(Cost cost) {
        FetchRun run = new FetchRun(
                SampleReport.settings("shared-file", "touch", 50),
                SampleReport.rounds(1, 9_000, 90_000),
                new Baseline.Absent("--no-baseline was given"),
                cost,
                SampleReport.SCREENING);
        return new FetchReport(Subject.CLONE, SampleReport.CONDITIONS, List.of(run), List.of("mounts: no /dev/fuse"));
    }

    private static Cost sharing() {
        return new Cost.OfSharing(
                50, 256 * MIB, 144 * MIB, 420 * MIB, 410 * MIB, new Cost.OfTouches(1_000_000, 65_536, 66_000));
    }

    @Test
    void shouldGiveTheRatiosOfWhatClonesShare() {
        JsonNode json = ReportJson.tree(report(sharing())).at("/runs/0");
        assertEquals(1.05, json.get("memoryRatio").asDouble());
        assertEquals(0.066, json.get("fetchedPerTouch").asDouble());
        assertEquals(1.0071, json.get("fetchedPerPage").asDouble());
        assertEquals(66_000, json.get("fetchedPages").asInt());
        assertEquals(410 * MIB, json.get("baselineMemoryBytes").asLong());
    }

    @Test
    void shouldShowInTheTableWhatClonesShare() {
        String table = ReportTable.render(report(sharing()));
        assertTrue(
                table.contains("memory of 50 processes: 420.0 MiB, 1.050 of base + dirty (256.0 + 144.0 MiB);"
                        + " with the local file 410.0 MiB"),
                table);
        assertTrue(table.contains("66,000 pages for 1,000,000 touches of 65,536 pages"), table);
    }

    @Test
    void shouldShowInTheTableThePartsOfAStart() {
        String table = ReportTable.render(report(new Cost.OfStarts(2_500, 3_500)));
        assertTrue(table.contains("2.50 µs to make the clone and attach it, 3.50 µs from the handoff"), table);
    }

    @Test
    void shouldNameInTheJsonWhatWasLeftOut() {
        JsonNode json = ReportJson.tree(report(sharing()));
        assertEquals("mounts: no /dev/fuse", json.at("/leftOut/0").asString());
        assertEquals("clone", json.get("subject").asString());
    }
}
