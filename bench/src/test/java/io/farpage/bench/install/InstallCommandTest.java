package io.farpage.bench.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.process.Programs;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("processes")
final class InstallCommandTest {
    private static final int HUGEPAGES = 49;

    @TempDir
    private Path directory;

    @Test
    void shouldMeasureCopyAndContinueForEachWayThatAPageArrives() throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        try (HugepageReservation hugepages = HugepageReservation.additional(HugepageSize.TWO_MIB, HUGEPAGES)) {
            assumeTrue(hugepages.isSufficient(), hugepages.description());
        }
        assertEquals(0, run("--rounds", "30"), said());
        List<JsonNode> lines = said().lines()
                .filter(line -> line.startsWith("{"))
                .map(line -> new JsonMapper().readTree(line))
                .toList();
        assertEquals(
                List.of("memcpy", "tcp", "device"),
                lines.stream().map(line -> line.get("arrival").asString()).toList());
        for (JsonNode line : lines) {
            assertEquals(27, line.get("count").asInt(), "a tenth is not recorded");
            assertTrue(
                    line.get("copyP50Ns").asLong() > 0
                            && line.get("continueP50Ns").asLong() > 0,
                    line.toString());
        }
    }

    @Test
    void shouldRefuseRoundsThatMeasureNothing() throws Exception {
        assertEquals(2, run("--rounds", "0"), said());
        assertTrue(said().contains("--rounds 0: must be from 20 to 1000000"), said());
    }

    private int run(String... options) throws Exception {
        List<String> command = new ArrayList<>(Programs.ofThisJvm().command("page-bench"));
        command.add("install");
        command.addAll(List.of(options));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("said").toFile())
                .start();
        try {
            Deadlines.exit("the end of the process", Duration.ofSeconds(90), process);
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private String said() throws Exception {
        return Files.readString(directory.resolve("said"));
    }
}
