package io.farpage.it.harness;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A program in C that stands for a VMM, and the library that is preloaded into it; see {@code src/test/c/shared_ram.c}.
 *
 * @param program the executable
 * @param library {@code libfarpage-preload.so}
 */
public record SharedRam(Path program, Path library) {
    /** What QEMU calls its memfd. */
    public static final String QEMUS_NAME = "memory-backend-memfd";

    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath();

    /** What this JVM has compiled, by name. Each is compiled once, and each test has a copy. */
    private static final Map<String, Path> COMPILED = new ConcurrentHashMap<>();

    /** Compiles both into a directory; skips the test where there is no C compiler. */
    public static SharedRam compile(Path into) {
        return compile(into, "shared_ram");
    }

    private static SharedRam compile(Path into, String program) {
        return new SharedRam(compileVmm(into, program), copy(compiledLibrary(), into));
    }

    private static Path compiledLibrary() {
        return COMPILED.computeIfAbsent("libfarpage-preload.so", name -> {
            Path library = ChildJvm.output(name);
            String said = run(ROOT.resolve("build/preload-library").toString(), library.toString());
            assumeTrue(Files.exists(library), said.strip());
            return library;
        });
    }

    private static Path copy(Path compiled, Path into) {
        try {
            return Files.copy(
                    compiled, into.resolve(compiled.getFileName().toString()), StandardCopyOption.COPY_ATTRIBUTES);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Compiles the library and {@code src/test/c/coherent.c}, a program that shares memory over nodes; skips the test
     * where there is no C compiler.
     */
    public static SharedRam compileCoherent(Path into) {
        return compile(into, "coherent");
    }

    /**
     * The command that runs it with the library preloaded, by way of env, so that nothing before the program has it.
     */
    public List<String> preloaded(String name, int pages, String... words) {
        return command(name, "" + pages, words);
    }

    /** As {@link #preloaded}, with pages of 2 MiB. */
    public List<String> preloadedHuge(String name, int pages, String... words) {
        return command(name, pages + "h", words);
    }

    private List<String> command(String name, String pages, String... words) {
        List<String> arguments = new ArrayList<>(List.of(name, pages));
        arguments.addAll(List.of(words));
        return preloaded(arguments);
    }

    /** As {@link #preloaded(String, int, String...)}, with the program's own arguments. */
    public List<String> preloaded(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of("env", "LD_PRELOAD=" + library, program.toString()));
        command.addAll(arguments);
        return command;
    }

    /**
     * Compiles {@code src/test/c/registered_ram.c}, a VMM that registers its RAM itself; skips the test where there is
     * no C compiler.
     */
    public static Path compileRegistered(Path into) {
        return compileVmm(into, "registered_ram");
    }

    /**
     * Compiles {@code src/test/c/changing_ram.c}, a VMM that changes its mappings; skips the test where there is no C
     * compiler.
     */
    public static Path compileChanging(Path into) {
        return compileVmm(into, "changing_ram");
    }

    /**
     * Compiles {@code src/test/c/direct_ram.c}, a VMM that reads its disk by direct I/O; skips the test where there is
     * no C compiler.
     */
    public static Path compileDirect(Path into) {
        return compileVmm(into, "direct_ram");
    }

    /**
     * Compiles {@code src/test/c/foreign_vmm.c}, a VMM with a shadow copy of its RAM; skips the test where there is no
     * C compiler.
     */
    public static Path compileForeign(Path into) {
        return compileVmm(into, "foreign_vmm");
    }

    /**
     * Compiles {@code src/test/c/firecracker_peer.c}, which resumes a snapshot as Firecracker does; skips the test
     * where there is no C compiler.
     */
    public static Path compileFirecrackerPeer(Path into) {
        return compileVmm(into, "firecracker_peer");
    }

    /** Compiles {@code src/test/c/mapped_snapshot.c}; skips the test where there is no C compiler. */
    static Path compileMappedSnapshot(Path into) {
        return compileVmm(into, "mapped_snapshot");
    }

    /**
     * Compiles the library and {@code src/test/c/precopy_ram.c}, a VMM whose RAM is copied while its guest runs; skips
     * the test where there is no C compiler.
     */
    public static SharedRam compilePrecopy(Path into) {
        return compile(into, "precopy_ram");
    }

    /** Where the library is compiled, a VMM is. */
    private static Path compileVmm(Path into, String name) {
        var _ = compiledLibrary();
        return copy(COMPILED.computeIfAbsent(name, SharedRam::compiled), into);
    }

    private static Path compiled(String name) {
        Path program = ChildJvm.output(name);
        run(
                "cc",
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pthread",
                "-I" + ROOT.resolve("bench/baseline"),
                "-I" + ROOT.resolve("page-agent/src/main/c"),
                "-o",
                program.toString(),
                ROOT.resolve("integration-tests/src/test/c/" + name + ".c").toString(),
                "-lm");
        return program;
    }

    private static String run(String... command) {
        try (ChildJvm process = ChildJvm.launch("compile", List.of(command), Map.of(), Path.of(""))) {
            if (process.awaitEnd() != 0) {
                throw new AssertionError(process.describe());
            }
            return process.err();
        }
    }
}
