package io.farpage.bench.clone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.fetch.BenchProcess;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("soak")
final class CloneCommandTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    private static final int PAGES = 512;
    private static final int TOUCHES = 64;
    private static final int RECORDED = TOUCHES - TOUCHES / 16;
    private static final int SHARERS = 3;
    private static final int CLONES = 2;

    @TempDir
    private static Path directory = Path.of("");

    private static JsonNode json = JsonMapper.shared().missingNode();

    @BeforeAll
    static void measure() throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        try {
            Userfaultfd.open(Handoff.FEATURES).close();
        } catch (PosixException e) {
            assumeTrue(false, e.getMessage());
        }
        json = report();
    }

    @Test
    void shouldStartClonesAndCountWhatTheyFetch() {
        assertEquals("clone", json.get("subject").asString());
        assertEquals(0, json.get("mismatches").asLong());
        JsonNode small = json.at("/runs/0");
        assertEquals("start-2mib", small.get("name").asString());
        assertEquals(CLONES, small.get("count").asInt());
        assertEquals("local-file", small.at("/baseline/name").asString());
        long parts = small.get("attachP50Ns").asLong() + small.get("touchP50Ns").asLong();
        assertTrue(parts <= 2 * small.get("maxNs").asLong(), small.toString());
        JsonNode large = json.at("/runs/1");
        assertEquals("start-64mib", large.get("name").asString());
        assertEquals("start-2mib", large.at("/baseline/name").asString());
        assertTrue(large.at("/ratioP50/median").asDouble() > 0, large.toString());
        JsonNode touches = json.at("/runs/2");
        assertEquals("touch-userfaultfd", touches.get("name").asString());
        assertEquals(RECORDED, touches.get("count").asInt());
        assertEquals(TOUCHES, touches.get("distinctPages").asInt());
        assertTrue(touches.get("fetchedPages").asInt() >= TOUCHES, touches.toString());
    }

    @Test
    void shouldShareTheMountedFileBetweenProcesses() throws Exception {
        Optional<String> obstacle = SnapshotMount.obstacle();
        if (obstacle.isPresent()) {
            assertTrue(json.at("/leftOut/0").asString().contains(obstacle.get()), json.toString());
            assertEquals(3, json.get("runs").size());
        }
        assumeTrue(obstacle.isEmpty(), obstacle::toString);
        assertEquals(0, json.get("leftOut").size());
        assertEquals(
                List.of("start-file", "touch-file", "shared-file", "touch-file-cached"),
                json.get("runs")
                        .valueStream()
                        .skip(3)
                        .map(run -> run.get("name").asString())
                        .toList());
        json.get("runs").forEach(run -> assertEquals(0, run.get("mismatches").asInt(), run.toString()));
        assertTrue(
                json.at("/runs/4/fetchedPages").asInt() >= TOUCHES,
                json.at("/runs/4").toString());
        assertEquals(0, json.at("/runs/6/fetchedPages").asInt(), "the pages are in the page cache");
        JsonNode shared = json.at("/runs/5");
        assertEquals(SHARERS * PAGES, shared.get("count").asInt());
        assertEquals(SHARERS, shared.get("processes").asInt());
        assertEquals(
                PAGES - 1, shared.get("fetchedPages").asInt(), "each page once, but for one that was fetched before");
        long least = shared.get("baseBytes").asLong() + shared.get("dirtyBytes").asLong();
        assertTrue(shared.get("memoryBytes").asLong() >= least, shared.toString());
        assertTrue(shared.get("baselineMemoryBytes").asLong() >= least, shared.toString());
        Path files = mounted();
        assertFalse(Files.readString(Path.of("/proc/self/mounts")).contains(files.toString()), "it is unmounted");
        assertTrue(Files.notExists(files.getParent()), "the temporary directory is gone");
    }

    /** Where the files were, as the agent's log has it. */
    private static Path mounted() throws Exception {
        Matcher found = Pattern.compile("snapshots are files in (\\S+)")
                .matcher(Files.readString(directory.resolve("report/logs/node.log")));
        assertTrue(found.find(), "the agent has served a file system");
        return Path.of(found.group(1));
    }

    private static JsonNode report() throws Exception {
        List<String> options = new ArrayList<>(List.of("--memory", "2MiB", "--large", "64MiB", "--rounds", "1"));
        options.addAll(List.of("--clones", "" + CLONES, "--touches", "" + TOUCHES, "--sharers", "" + SHARERS));
        options.addAll(List.of("--warmup", "0ms", "--transport", "tcp", "--idle", "block"));
        try (BenchProcess bench = BenchProcess.start(directory, "clone", options)) {
            assertEquals(0, bench.exitCode(TIMEOUT), bench.output() + bench.errors());
            assertTrue(bench.output().contains("every page held what it should"), bench.output());
        }
        return new JsonMapper().readTree(Files.readString(directory.resolve("report/clone.json")));
    }
}
