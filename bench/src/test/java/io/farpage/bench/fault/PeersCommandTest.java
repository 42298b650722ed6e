package io.farpage.bench.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.fetch.BenchProcess;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("processes")
final class PeersCommandTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(100);
    private static final int PAGES = 256;
    private static final int ROUNDS = 2;

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

    private static List<Peer> servers() {
        return Stream.of(Peer.values()).filter(Peer::isServer).toList();
    }

    /** Those servers that this host has; without any, the test is skipped with what is missing. */
    private static List<Peer> presentServers() {
        List<Peer> present = servers().stream()
                .filter(peer -> peer.missing(Peer.path()).isEmpty())
                .toList();
        assumeTrue(
                !present.isEmpty(),
                () -> servers().stream()
                        .map(peer -> peer.missing(Peer.path()))
                        .flatMap(Optional::stream)
                        .collect(Collectors.joining("; ")));
        return present;
    }

    private BenchProcess start(List<Peer> peers, int rounds) throws Exception {
        return BenchProcess.start(
                directory,
                "peers",
                List.of(
                        "--peer",
                        peers.stream().map(Peer::label).collect(Collectors.joining(",")),
                        "--idle",
                        "block",
                        "--pages",
                        Integer.toString(PAGES),
                        "--rounds",
                        Integer.toString(rounds),
                        "--warmup",
                        "0ms",
                        "--transport",
                        "tcp"));
    }

    /** By its command line, which has the port; that of its handler has the handler's socket as well. */
    private static boolean isServer(ProcessHandle process, Peer peer) {
        String line = process.info().commandLine().orElse("");
        return line.contains(peer.label()) && line.contains("127.0.0.1");
    }

    private void assertMeasured(List<Peer> peers) throws Exception {
        JsonNode json = new JsonMapper().readTree(Files.readString(directory.resolve("report/peers.json")));
        assertEquals(
                peers.stream().map(peer -> peer.label() + "-block").toList(),
                json.get("runs")
                        .valueStream()
                        .map(run -> run.get("name").asString())
                        .toList());
        for (JsonNode run : json.get("runs")) {
            assertEquals(ROUNDS * (PAGES - PAGES / 16), run.get("count").asLong(), run.toString());
            assertEquals(0, run.get("mismatches").asLong());
            assertEquals("c-server", run.at("/baseline/name").asString());
            assertTrue(run.at("/ratioP50/median").asDouble() > 0, run.toString());
        }
    }

    @Test
    void shouldResolveFaultsWithPagesOfEveryServer() throws Exception {
        List<Peer> peers = presentServers();
        try (BenchProcess bench = start(peers, ROUNDS)) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            assertTrue(bench.output().contains("every page held what it should"), bench.output());
        }
        assertMeasured(peers);
    }

    @Test
    void shouldEndAllServersWhenOneOfThemDies() throws Exception {
        List<Peer> peers = presentServers();
        try (BenchProcess bench = start(peers, 1000)) {
            Deadlines.await("all servers run", TIMEOUT)
                    .until(() -> Files.exists(directory.resolve(
                            "report/logs/fault-baseline-" + peers.getLast().label() + "-block.sock.log")));
            List<ProcessHandle> started = bench.descendants();
            ProcessHandle server = started.stream()
                    .filter(process -> isServer(process, peers.getFirst()))
                    .findFirst()
                    .orElseThrow();
            server.destroyForcibly();
            assertEquals(1, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            String last = bench.errors().lines().reduce("", (a, b) -> b);
            assertTrue(last.startsWith("page-bench: ") && last.contains("ended with exit code"), bench.errors());
            Deadlines.await("the processes end", Deadlines.LONG)
                    .untilAsserted(() -> assertFalse(started.stream().anyMatch(ProcessHandle::isAlive)));
        }
    }

    @Test
    @Tag("soak")
    void shouldMeasureSwapAndFarpageBesideAServer() throws Exception {
        Optional<String> missing = Peer.ZRAM.missing(Peer.path());
        assumeTrue(missing.isEmpty(), missing::toString);
        List<Peer> peers = List.of(Peer.ZRAM, Peer.FARPAGE);
        try (BenchProcess bench = start(peers, ROUNDS)) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
        }
        assertMeasured(peers);
        assertFalse(Files.readString(Path.of("/proc/swaps")).contains("32767"), "a device of this command is still on");
    }
}
