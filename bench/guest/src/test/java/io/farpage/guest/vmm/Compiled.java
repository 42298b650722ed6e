package io.farpage.guest.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A C program, compiled and run for what it prints. */
final class Compiled {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private Compiled() {}

    /** Skips the test where there is no C compiler. */
    static List<String> linesOf(Path directory, String source) throws IOException, InterruptedException {
        Optional<Path> compiler = compiler();
        assumeTrue(compiler.isPresent(), "no C compiler on the PATH");
        Path file = Files.writeString(directory.resolve("program.c"), source);
        Path program = directory.resolve("program");
        run(directory, compiler.orElseThrow().toString(), "-o", program.toString(), file.toString());
        return run(directory, program.toString());
    }

    private static Optional<Path> compiler() {
        return Stream.of(System.getenv("PATH").split(":"))
                .map(directory -> Path.of(directory, "cc"))
                .filter(Files::isExecutable)
                .findFirst();
    }

    private static List<String> run(Path directory, String... command) throws IOException, InterruptedException {
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        Deadlines.exit("the end of the process", TIMEOUT, process);
        assertEquals(0, process.exitValue(), () -> String.join(" ", command));
        return Files.readAllLines(output);
    }
}
