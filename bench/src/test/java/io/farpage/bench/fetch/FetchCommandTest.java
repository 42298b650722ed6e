package io.farpage.bench.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.crypto.LibCrypto;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("processes")
final class FetchCommandTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(100);
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
            "ratioThroughput");

    @TempDir
    private Path directory;

    private BenchProcess start(String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of(options));
        BenchProcess.SMALL.forEach((option, value) -> {
            if (!all.contains(option)) {
                all.addAll(List.of(option, value));
            }
        });
        return BenchProcess.start(directory, "fetch", all);
    }

    private JsonNode report() throws Exception {
        return new JsonMapper().readTree(Files.readString(directory.resolve("report/fetch.json")));
    }

    @Test
    void shouldFetchAndCheckPagesAndReportThemWhole() throws Exception {
        try (BenchProcess bench = start("--mode", "latency", "--idle", "block", "--count", "3000", "--rounds", "3")) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            assertTrue(bench.output().contains("every page held what it should"), bench.output());
        }
        JsonNode json = report();
        FIELDS.forEach(field -> assertTrue(json.has(field), field));
        assertEquals("soft", json.get("transport").asString());
        assertEquals(3000, json.get("count").asLong());
        assertEquals(0, json.get("mismatches").asLong());
        assertEquals(1, json.get("depth").asInt());
        assertEquals(4096, json.get("pageSize").asInt());
        assertTrue(json.get("p50Ns").asLong() > 0
                && json.get("p99Ns").asLong() >= json.get("p50Ns").asLong());
        try (Stream<Path> logs = Files.list(directory.resolve("report/logs"))) {
            assertEquals(3, logs.count(), "a log for each process");
        }
    }

    @Test
    @Tag("soak")
    void shouldFetchSealedPagesOpenThemAndCompareWithPlainOnes() throws Exception {
        assumeTrue(
                LibCrypto.load(Optional.empty()) instanceof LibCrypto.Loading.Loaded,
                "OpenSSL 3 is missing: apt-get install libssl3");
        try (BenchProcess bench =
                start("--mode", "latency", "--idle", "block", "--count", "600", "--rounds", "3", "--sealed", "on")) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
        }
        JsonNode json = report();
        assertEquals("latency-block-sealed", json.get("name").asString());
        assertEquals(600, json.get("count").asLong());
        assertEquals(0, json.get("mismatches").asLong());
        assertTrue(json.get("p50Ns").asLong() > 0);
        assertEquals("farpage-plain-block", json.get("baseline").get("name").asString());
    }

    /**
     * The warm-up is long: on a loaded machine the compiler finishes late, and until then escape analysis removes no
     * allocation.
     */
    @Test
    @Tag("soak")
    void shouldAllocateNothingForAHundredThousandFetches() throws Exception {
        try (BenchProcess bench = start(
                "--mode",
                "throughput",
                "--idle",
                "block",
                "--count",
                "500000",
                "--rounds",
                "2",
                "--warmup",
                "20s",
                "--no-baseline")) {
            assertEquals(0, bench.exitCode(Duration.ofSeconds(220)), bench.output() + bench.errors());
        }
        JsonNode json = report();
        assertEquals(500_000, json.get("count").asLong());
        assertEquals(0, json.get("allocatedBytesPerFetch").asDouble());
    }

    @Test
    @Tag("soak")
    void shouldFetchPagesOfTwoMebibytes() throws Exception {
        try (BenchProcess bench = start(
                "--mode",
                "throughput",
                "--idle",
                "block",
                "--depth",
                "4",
                "--page-size",
                "2MiB",
                "--pages",
                "16",
                "--pattern",
                "zipf",
                "--count",
                "40",
                "--rounds",
                "2",
                "--no-baseline")) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
        }
        assertEquals(40, report().get("count").asLong());
        assertEquals("--no-baseline was given", report().get("baselineAbsent").asString());
    }

    @Test
    @Tag("soak")
    void shouldEndWithAClearErrorWhenTheHomeIsKilled() throws Exception {
        try (BenchProcess bench =
                start("--mode", "latency", "--idle", "block", "--duration", "60s", "--rounds", "1", "--no-baseline")) {
            awaitFetching(bench);
            bench.child("io.farpage.agent.Main").orElseThrow().destroyForcibly();
            assertEquals(1, bench.exitCode(Duration.ofSeconds(20)));
            String last = bench.errors().lines().reduce("", (a, b) -> b);
            assertTrue(last.startsWith("page-bench: ") && last.contains("home of latency-block"), bench.errors());
            assertTrue(last.contains("exit code 137"), bench.errors());
        }
    }

    @Test
    @Tag("soak")
    void shouldEndItsChildrenWhenItIsKilled() throws Exception {
        List<ProcessHandle> children;
        try (BenchProcess bench =
                start("--mode", "latency", "--idle", "block", "--duration", "60s", "--rounds", "1", "--no-baseline")) {
            awaitFetching(bench);
            try (Stream<ProcessHandle> all = bench.handle().descendants()) {
                children = all.toList();
            }
            assertTrue(children.size() >= 3, () -> "children: " + children);
            bench.handle().destroyForcibly();
        }
        Deadlines.await("the child processes end", Deadlines.LONG)
                .untilAsserted(() -> assertFalse(children.stream().anyMatch(ProcessHandle::isAlive)));
    }

    @Test
    void shouldEndItsChildrenOnATerminationSignalEvenWhileTheySleep() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/cc")), "needs a C compiler, for the baseline's turns");
        List<ProcessHandle> children;
        try (BenchProcess bench = start("--mode", "latency", "--idle", "block", "--duration", "60s", "--rounds", "2")) {
            Deadlines.await("the baseline runs", TIMEOUT)
                    .until(() -> bench.child("fetch_baseline").isPresent());
            try (Stream<ProcessHandle> all = bench.handle().descendants()) {
                children = all.toList();
            }
            bench.handle().destroy();
            assertEquals(143, bench.exitCode(Duration.ofSeconds(30)));
        }
        Deadlines.await("the child processes end", Deadlines.LONG)
                .untilAsserted(() -> assertFalse(children.stream().anyMatch(ProcessHandle::isAlive)));
    }

    /** The link is up and pages are moving: the node has begun to use its CPU in earnest. */
    private void awaitFetching(BenchProcess bench) {
        Path log = directory.resolve("report/logs/home-of-latency-block.log");
        Deadlines.await("the first node is up", TIMEOUT)
                .until(() -> Files.exists(log)
                        && Files.readString(log).contains("is up")
                        && bench.child("fetch-node").isPresent());
    }
}
