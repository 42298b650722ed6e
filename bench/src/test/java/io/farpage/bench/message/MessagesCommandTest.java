package io.farpage.bench.message;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import io.farpage.bench.process.Programs;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("processes")
final class MessagesCommandTest {
    @TempDir
    private Path directory;

    @Test
    void shouldMeasureBothSidesInTurns() throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        assertEquals(0, run("--rounds", "2", "--count", "100"), said());
        assertTrue(said().contains("2 rounds of 100 round trips of 64 and 4160 bytes over TCP, block"), said());
        for (String row : List.of("farpage", "c", "ratio")) {
            String line = said().lines()
                    .filter(each -> each.startsWith(row + " "))
                    .findFirst()
                    .orElseThrow();
            String[] figures = line.strip().split(" +");
            assertEquals(3, figures.length, line);
            assertTrue(Double.parseDouble(figures[1]) > 0 && Double.parseDouble(figures[2]) > 0, line);
        }
    }

    /** In a process of its own, since the tests' JVMs compile with C1, which allocates what C2 does not. */
    @Test
    @Tag("soak")
    void shouldAllocateNothingForAMessage() throws Exception {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        assertEquals(0, run("--rounds", "4", "--count", "100000"), said());
        String line = said().lines()
                .filter(each -> each.startsWith("allocated per message: "))
                .findFirst()
                .orElseThrow();
        double bytes = Double.parseDouble(line.split(" ")[3]);
        // The smallest object for each message is 16 bytes.
        assertTrue(bytes < 1, line);
    }

    @Test
    void shouldRefuseUnknownWayToWait() throws Exception {
        assertEquals(2, run("--idle", "sometimes"), said());
        assertTrue(said().contains("--idle sometimes: must be block or spin"), said());
    }

    private int run(String... options) throws Exception {
        List<String> command = new ArrayList<>(Programs.ofThisJvm().command("page-bench"));
        command.add("messages");
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
