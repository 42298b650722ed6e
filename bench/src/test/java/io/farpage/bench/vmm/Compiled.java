package io.farpage.bench.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.CCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A C program, compiled and run for what it prints. */
final class Compiled {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private Compiled() {}

    /** Skips the test where there is no C compiler. */
    static List<String> linesOf(Path directory, String source) throws IOException, InterruptedException {
        Optional<CCompiler> compiler = CCompiler.find(System.getenv("PATH"));
        assumeTrue(compiler.isPresent(), "no C compiler on the PATH");
        Path program = directory.resolve("program");
        compiler.orElseThrow().compile(Files.writeString(directory.resolve("program.c"), source), program, PATIENCE);
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(program.toString())
                .redirectOutput(output.toFile())
                .start();
        assertTrue(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        assertEquals(0, process.exitValue());
        return Files.readAllLines(output);
    }
}
