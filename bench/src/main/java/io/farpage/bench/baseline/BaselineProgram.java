package io.farpage.bench.baseline;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Whether the C baseline can be run here. */
public sealed interface BaselineProgram {
    /** Built and ready to {@linkplain BaselineProcess#start start}. */
    record Built(Path program, Path compiler) implements BaselineProgram {}

    /** Cannot be had; the reason is one line that names what would help. */
    record Unavailable(String reason) implements BaselineProgram {}

    /** The files that the program is made of, the one to compile first. */
    List<String> SOURCES = List.of(
            "fetch_baseline.c",
            "latency_histogram.h",
            "options.h",
            "page_client.h",
            "page_content.h",
            "page_numbers.h",
            "page_server.h",
            "wire.h");

    /**
     * Builds the baseline under a directory, made if need be, with the first C compiler on the PATH.
     *
     * @param patience how long the compiler may take
     */
    static BaselineProgram build(Path directory, Duration patience) throws InterruptedException {
        return build(
                directory, patience, Optional.ofNullable(System.getenv("PATH")).orElse(""));
    }

    /** As {@link #build(Path, Duration)}, looking for a compiler along a given PATH. */
    static BaselineProgram build(Path directory, Duration patience, String path) throws InterruptedException {
        Optional<CCompiler> compiler = CCompiler.find(path);
        if (compiler.isEmpty()) {
            return new Unavailable("no C compiler: none of " + String.join(", ", CCompiler.NAMES)
                    + " is on the PATH; install one, for example with apt-get install gcc");
        }
        try {
            Path source = unpack(directory).resolve(SOURCES.getFirst());
            Path program = directory.resolve("fetch_baseline");
            compiler.get().compile(source, program, patience);
            return new Built(program, compiler.get().program());
        } catch (IOException failed) {
            return new Unavailable("the C baseline does not build: " + failed.getMessage());
        }
    }

    /** Puts the sources into a directory, made if need be, and returns it. */
    private static Path unpack(Path directory) throws IOException {
        Files.createDirectories(directory);
        for (String name : SOURCES) {
            try (InputStream in = BaselineProgram.class.getResourceAsStream("c/" + name)) {
                if (in == null) {
                    throw new IOException("the resource c/" + name + " is missing from the bench jar");
                }
                Files.copy(in, directory.resolve(name), StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return directory;
    }
}
