package io.farpage.bench.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.fetch.BenchProcess;
import io.farpage.linux.PosixException;
import io.farpage.linux.crypto.LibCrypto;
import io.farpage.linux.uffd.Userfaultfd;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("soak")
final class FaultCommandTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(150);
    private static final int PAGES = 512;
    private static final int ROUNDS = 2;
    private static final int RECORDED = ROUNDS * (PAGES - PAGES / 16);
    private static final List<String> FIELDS = List.of(
            "transport",
            "pageSize",
            "depth",
            "pattern",
            "placement",
            "count",
            "mismatches",
            "p50Ns",
            "p90Ns",
            "p99Ns",
            "p999Ns",
            "maxNs",
            "pagesPerSecond",
            "baseline",
            "ratioP50",
            "ratioP99",
            "ratioThroughput",
            "fetchP50Ns",
            "installP50Ns",
            "faults",
            "evictions",
            "prefetchHitRate");

    @TempDir
    private Path directory;

    @BeforeAll
    static void canRun() {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        try {
            Userfaultfd.open(Userfaultfd.FEATURE_WP_HUGETLBFS_SHMEM).close();
        } catch (PosixException e) {
            assumeTrue(false, e.getMessage());
        }
    }

    @Test
    void shouldResolveFaultsWithTheRightPagesAndReportThemWhole() throws Exception {
        JsonNode json = report(List.of("--case", "random,threads,sequential-prefetch,local-25"));
        assertEquals("fault", json.get("subject").asString());
        JsonNode runs = json.get("runs");
        assertEquals(
                List.of("random-block", "threads-block", "sequential-prefetch-block", "local-25-block"),
                runs.valueStream().map(run -> run.get("name").asString()).toList());
        for (JsonNode run : runs) {
            String name = run.get("name").asString();
            FIELDS.forEach(field -> assertTrue(run.has(field), name + ": " + field));
            assertEquals("soft", run.get("transport").asString());
            assertEquals(RECORDED, run.get("count").asLong(), name);
            assertEquals(RECORDED, run.at("/baseline/count").asLong(), name);
            assertEquals(0, run.get("mismatches").asLong(), name);
            assertEquals(0, run.at("/baseline/mismatches").asLong(), name);
            assertTrue(run.get("p99Ns").asLong() >= run.get("p50Ns").asLong(), name);
            assertTrue(
                    run.get("fetchP50Ns").asLong() > 0
                            && run.get("installP50Ns").asLong() > 0,
                    name);
        }
        assertEquals("c-fault-block", runs.at("/0/baseline/name").asString());
        assertEquals(ROUNDS * PAGES, runs.at("/0/faults").asLong(), "each page faults once");
        assertTrue(runs.at("/0/prefetchHitRate").isNull());
        assertTrue(runs.at("/2/faults").asLong() < ROUNDS * PAGES / 4, "prefetched pages do not fault");
        assertTrue(runs.at("/2/prefetchHitRate").asDouble() > 0.8);
        assertTrue(runs.at("/3/evictions").asLong() >= ROUNDS * PAGES / 2, "three quarters have no room");
    }

    @Test
    void shouldCompareEncryptedPagesWithPlainOnes() throws Exception {
        LibCrypto.Loading library = LibCrypto.load(Optional.empty());
        assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);
        compare("encrypted", "farpage-plain");
    }

    @Test
    @Tag("long")
    void shouldComparePagesWithTwoHomesWithThoseThatHaveOne() throws Exception {
        compare("mirrored", "farpage-one-home");
    }

    /** A case and the same with a quarter of the pages resident. */
    private void compare(String kind, String baseline) throws Exception {
        JsonNode runs =
                report(List.of("--case", kind + "," + kind + "-local-25")).get("runs");
        for (JsonNode run : runs) {
            String name = run.get("name").asString();
            assertEquals(baseline, run.at("/baseline/name").asString(), name);
            assertEquals(0, run.get("mismatches").asLong(), name);
            assertEquals(0, run.at("/baseline/mismatches").asLong(), name);
            assertEquals(RECORDED, run.get("count").asLong(), name);
        }
        assertEquals(ROUNDS * PAGES, runs.at("/0/faults").asLong(), "each page faults once");
        assertTrue(runs.at("/1/evictions").asLong() >= ROUNDS * PAGES / 2, "three quarters have no room");
    }

    @Test
    @Tag("long")
    void shouldCompareAGuestBesideAnotherWithTheGuestAlone() throws Exception {
        JsonNode json = report(List.of("--case", "mixed"));
        assertEquals("farpage-alone", json.at("/baseline/name").asString());
        assertEquals(0, json.get("mismatches").asLong());
        assertEquals(RECORDED, json.get("count").asLong());
        assertEquals(ROUNDS * PAGES, json.get("faults").asLong(), "the other guest's faults do not count");
    }

    @Test
    void shouldResolveFaultsOfAnonymousMemoryWithoutTheBaseline() throws Exception {
        JsonNode json = report(List.of("--case", "random", "--backing", "anonymous", "--no-baseline"));
        assertEquals(0, json.get("mismatches").asLong());
        assertEquals(RECORDED, json.get("count").asLong());
        assertEquals("--no-baseline was given", json.get("baselineAbsent").asString());
    }

    private JsonNode report(List<String> options) throws Exception {
        List<String> all = new ArrayList<>(options);
        all.addAll(List.of(
                "--idle",
                "block",
                "--pages",
                Integer.toString(PAGES),
                "--rounds",
                Integer.toString(ROUNDS),
                "--warmup",
                "0ms",
                "--transport",
                "tcp"));
        try (BenchProcess bench = BenchProcess.start(directory, "fault", all)) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            assertTrue(bench.output().contains("every page held what it should"), bench.output());
        }
        return new JsonMapper().readTree(Files.readString(directory.resolve("report/fault.json")));
    }
}
