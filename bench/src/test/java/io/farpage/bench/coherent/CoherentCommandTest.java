package io.farpage.bench.coherent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.fetch.BenchProcess;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("processes")
@Tag("soak")
final class CoherentCommandTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final int COUNT = 256;
    private static final int ROUNDS = 2;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void shouldMeasureEachKindOfFaultInTurns(int replicas) throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        try {
            Userfaultfd.open(Userfaultfd.FEATURE_WP_HUGETLBFS_SHMEM).close();
        } catch (PosixException e) {
            assumeTrue(false, e.getMessage());
        }
        List<String> options = List.of(
                "--idle=block", "--count=" + COUNT, "--rounds=" + ROUNDS, "--replicas=" + replicas, "--warmup=0ms");
        try (BenchProcess bench = BenchProcess.start(directory, "coherent", options)) {
            assertEquals(0, bench.exitCode(Deadlines.of(TIMEOUT)), () -> said(bench));
            String said = bench.output();
            assertTrue(said.contains("about ") && said.contains("every page held what it should"), said);
        }
        List<String> names = new ArrayList<>();
        for (JsonNode run : new JsonMapper()
                .readTree(Files.readString(directory.resolve("report/coherent.json")))
                .get("runs")) {
            names.add(run.get("name").asString());
            int touches = names.getLast().startsWith("sum") ? CoherentPlan.BEYOND_LOCAL * COUNT : COUNT;
            assertEquals(ROUNDS * touches, run.get("count").asInt(), run::toString);
            assertTrue(run.get("ratioP50").get("median").asDouble() > 0, run::toString);
        }
        assertEquals(
                List.of(
                        "clean-read-block",
                        "exclusive-read-block",
                        "clean-to-exclusive-block",
                        "dirty-read-block",
                        "write-1-sharer-block",
                        "write-3-sharers-block",
                        "write-3-to-1-block",
                        "private-block",
                        "sum-2-nodes-block"),
                names);
    }

    private static String said(BenchProcess bench) {
        try {
            return bench.output() + bench.errors();
        } catch (IOException e) {
            return e.toString();
        }
    }
}
