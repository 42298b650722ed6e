package io.farpage.bench.fetch;

import io.farpage.bench.process.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** {@code page-bench} as a process of its own, as people run it. */
public final class BenchProcess implements AutoCloseable {
    /** A small run of fetch: seconds, not minutes. */
    static final Map<String, String> SMALL = Map.of("--pages", "256", "--warmup", "0ms", "--transport", "tcp");

    private final Process process;
    private final Path output;
    private final Path errors;

    private BenchProcess(Process process, Path output, Path errors) {
        this.process = process;
        this.output = output;
        this.errors = errors;
    }

    public static BenchProcess start(Path directory, String benchmark, List<String> options) throws IOException {
        List<String> command = new ArrayList<>(Programs.ofThisJvm().command("page-bench"));
        command.addAll(
                List.of(benchmark, "--report", directory.resolve("report").toString()));
        command.addAll(options);
        Path output = directory.resolve("output");
        Path errors = directory.resolve("errors");
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        return new BenchProcess(process, output, errors);
    }

    ProcessHandle handle() {
        return process.toHandle();
    }

    /** All programs that it has started and that run. */
    public List<ProcessHandle> descendants() {
        try (Stream<ProcessHandle> all = process.descendants()) {
            return all.toList();
        }
    }

    /** A running child whose command line contains a word. */
    Optional<ProcessHandle> child(String word) {
        try (Stream<ProcessHandle> all = process.descendants()) {
            return all.filter(ProcessHandle::isAlive)
                    .filter(child -> commandLine(child).contains(word))
                    .findFirst();
        }
    }

    private static String commandLine(ProcessHandle child) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(child.pid()), "cmdline"));
        } catch (IOException gone) {
            return "";
        }
    }

    /** Waits for its end and returns its exit code. */
    public int exitCode(Duration timeout) throws InterruptedException, IOException {
        if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new AssertionError("page-bench still runs after " + timeout + ": " + output() + errors());
        }
        return process.exitValue();
    }

    public String output() throws IOException {
        return Files.readString(output);
    }

    public String errors() throws IOException {
        return Files.readString(errors);
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
