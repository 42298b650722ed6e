package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs {@code cc} for tests; where there is none they are skipped. */
final class CCompiler {
    private CCompiler() {}

    /** Compiles {@code source} with {@code arguments}; the result's path. */
    static Path compile(Path directory, String name, String source, String... arguments)
            throws IOException, InterruptedException {
        assumeTrue(run(directory, List.of("cc", "--version")) == 0, "there is no C compiler (cc)");
        Path file = Files.writeString(directory.resolve(name + ".c"), source);
        Path result = directory.resolve(name);
        List<String> command = new ArrayList<>(List.of("cc", "-o", result.toString(), file.toString()));
        command.addAll(List.of(arguments));
        if (run(directory, command) != 0) {
            throw new IOException(command + " failed: " + Files.readString(directory.resolve("output")));
        }
        return result;
    }

    /** Whether {@code header} can be included. */
    static boolean hasHeader(Path directory, String header) throws IOException, InterruptedException {
        Path file = Files.writeString(directory.resolve("header.c"), "#include <" + header + ">\n");
        return run(directory, List.of("cc", "-fsyntax-only", file.toString())) == 0;
    }

    /** Runs a command, its output going to the file {@code output}; its exit code, 127 if it cannot be run. */
    static int run(Path directory, List<String> command) throws InterruptedException, IOException {
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("output").toFile())
                    .start();
        } catch (IOException e) {
            return 127;
        }
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException(command + " does not end");
        }
        return process.exitValue();
    }
}
