package io.farpage.bench.baseline;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A C compiler that takes gcc's options. */
public record CCompiler(Path program) {
    public static final List<String> NAMES = List.of("cc", "gcc", "clang");

    /** The first of {@link #NAMES} in the directories of a PATH. */
    public static Optional<CCompiler> find(String path) {
        return NAMES.stream()
                .flatMap(name -> Stream.of(path.split(":"))
                        .filter(directory -> !directory.isEmpty())
                        .map(directory -> Path.of(directory, name)))
                .filter(Files::isExecutable)
                .findFirst()
                .map(CCompiler::new);
    }

    /**
     * Compiles one file for this very machine; throws with what the compiler said if it fails or takes too long.
     *
     * @param libraries to link with, such as {@code m}
     */
    public void compile(Path source, Path program, List<String> libraries, Duration timeout)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(this.program.toString(), "-O3", "-march=native", "-std=gnu11"));
        command.addAll(List.of("-pthread", "-o", program.toString(), source.toString()));
        libraries.forEach(library -> command.add("-l" + library));
        Path said = Files.createTempFile("farpage-cc", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(said.toFile())
                    .start();
            try {
                if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new IOException(String.join(" ", command) + ": not done after " + timeout.toSeconds() + " s");
                }
            } finally {
                process.destroyForcibly();
            }
            if (process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + ": exit " + process.exitValue() + ": "
                        + Files.readString(said).strip());
            }
        } finally {
            Files.deleteIfExists(said);
        }
    }
}
