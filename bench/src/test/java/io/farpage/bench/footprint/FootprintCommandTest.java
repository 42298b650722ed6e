package io.farpage.bench.footprint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.fetch.BenchProcess;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("soak")
@Tag("long")
final class FootprintCommandTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(5);

    @TempDir
    private Path directory;

    private JsonNode measure(String... options) throws Exception {
        try (BenchProcess bench = BenchProcess.start(directory, "footprint", List.of(options))) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            return JsonMapper.shared().readTree(bench.output()).get("sections");
        }
    }

    private static double figure(JsonNode section, int row, Measure measure) {
        return section.get("rows").get(row).get(measure.key()).asDouble();
    }

    @Test
    void shouldCountThreadsAndDescriptorsOfGuests() throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        requireUserfaultfd();
        JsonNode sections =
                measure("--part=guests", "--guests=6", "--guest-memory=2MiB", "--rounds=1", "--json", "--no-progress");
        assertEquals("guests-block", sections.get(0).get("name").asString());
        double threads = figure(sections.get(0), 2, Measure.THREADS);
        assertTrue(threads > 1 && threads < 4, "threads of each guest: " + threads);
        assertTrue(figure(sections.get(0), 2, Measure.DESCRIPTORS) > 2, sections.toString());
        assertTrue(figure(sections.get(1), 0, Measure.RATIO) > 0, sections.toString());
    }

    @Test
    void shouldCountThreadsAndDescriptorsOfLinks() throws Exception {
        JsonNode links = measure("--part=links", "--peers=4", "--shards=2", "--json", "--no-progress")
                .get(0);
        assertEquals("links", links.get("name").asString());
        assertTrue(figure(links, 1, Measure.THREADS) >= figure(links, 0, Measure.THREADS) + 8, links.toString());
        assertTrue(figure(links, 2, Measure.DESCRIPTORS) >= 4, links.toString());
    }

    @Test
    void shouldCompareSpacesOfTwoSizes() throws Exception {
        requireUserfaultfd();
        JsonNode pages = measure("--part=pages", "--space=64MiB", "--json", "--no-progress")
                .get(0);
        assertEquals("pages", pages.get("name").asString());
        assertTrue(pages.get("rows").size() >= 8, pages.toString());
        pages.get("rows").forEach(row -> assertTrue(row.has(Measure.ALLOCATED.key()), row.toString()));
    }

    private static void requireUserfaultfd() {
        try {
            Userfaultfd.open(Handoff.FEATURES).close();
        } catch (PosixException e) {
            assumeTrue(false, e.getMessage());
        }
    }
}
