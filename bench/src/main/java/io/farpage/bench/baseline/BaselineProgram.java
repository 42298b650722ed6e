package io.farpage.bench.baseline;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether one of the C programs can be run on this machine. */
public sealed interface BaselineProgram {
    /** Built and ready to {@linkplain BaselineProcess#start start}. */
    record Built(Path program, Path compiler) implements BaselineProgram {}

    /** Cannot be built; the reason is one line that names the fix. */
    record Unavailable(String reason) implements BaselineProgram {}

    /** Fetches pages; see {@link BaselineProcess}. */
    String FETCH = "fetch_baseline";

    /** Resolves faults with pages that it fetches; see {@link FaultHandler}. */
    String FAULT = "fault_baseline";

    /** Touches memory that another process pages; see {@link FaultToucher}. */
    String TOUCHER = "fault_toucher";

    /** Runs a program on one CPU, scheduled as the servers are. */
    String PLACED = "placed";

    /** Installs pages of 2 MiB by the two ways that the kernel has. */
    String INSTALL = "install_baseline";

    /** Sends messages over TCP and gets answers. */
    String MESSAGES = "messages_baseline";

    /** Sends messages over a reliable connection of an RDMA device and gets answers. */
    String MESSAGES_VERBS = "messages_verbs_baseline";

    /** What the programs are made of beside a source named as the program is. */
    List<String> HEADERS = List.of(
            "figures.h",
            "handoff.h",
            "latency_histogram.h",
            "options.h",
            "page_client.h",
            "page_content.h",
            "page_numbers.h",
            "page_server.h",
            "page_source.h",
            "scheduling.h",
            "source_memcached.h",
            "source_nbd.h",
            "source_pages.h",
            "source_redis.h",
            "source_text.h",
            "wire.h");

    /** How long the compiler may take. */
    Duration COMPILER_TIMEOUT = Duration.ofSeconds(60);

    /**
     * Builds a program in a directory, made if need be, with the first C compiler on the PATH.
     *
     * @param name one of the above
     */
    static BaselineProgram build(String name, Path directory) throws InterruptedException {
        return build(name, directory, Optional.ofNullable(System.getenv("PATH")).orElse(""));
    }

    /** As {@link #build(String, Path)}, looking for a compiler along a given PATH. */
    static BaselineProgram build(String name, Path directory, String path) throws InterruptedException {
        Optional<CCompiler> compiler = CCompiler.find(path);
        if (compiler.isEmpty()) {
            return new Unavailable("no C compiler: none of " + String.join(", ", CCompiler.NAMES)
                    + " is on the PATH; install one, for example with apt-get install gcc");
        }
        try {
            Path source = unpack(name, directory).resolve(name + ".c");
            Path program = directory.resolve(name);
            List<String> libraries = usesVerbs(name) ? List.of("m", "ibverbs") : List.of("m");
            compiler.get().compile(source, program, libraries, COMPILER_TIMEOUT);
            return new Built(program, compiler.get().program());
        } catch (IOException failed) {
            return new Unavailable(name + " does not build" + (usesVerbs(name) ? ", which takes libibverbs-dev" : "")
                    + ": " + failed.getMessage());
        }
    }

    private static boolean usesVerbs(String name) {
        return name.equals(MESSAGES_VERBS);
    }

    /** Puts a program's sources into a directory, made if need be, and returns it. */
    private static Path unpack(String program, Path directory) throws IOException {
        Files.createDirectories(directory);
        List<String> sources = new ArrayList<>(HEADERS);
        sources.add(program + ".c");
        for (String name : sources) {
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
