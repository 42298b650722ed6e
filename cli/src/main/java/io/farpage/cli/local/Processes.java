package io.farpage.cli.local;

import io.farpage.bench.process.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** Starts the processes of a local cluster, which outlive this one. */
final class Processes {

    private static final Duration POLL = Duration.ofMillis(50);
    private static final Path SETSID = Path.of("/usr/bin/setsid");
    private static final int LAST_LINES = 3;

    private final Path folder;
    private final Programs programs = Programs.ofThisJvm();
    private final List<Started> started = new ArrayList<>();

    /** One that this has started. */
    private record Started(String name, Process process, Path log) {}

    Processes(Path folder) {
        this.folder = folder;
    }

    /** Starts a program in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it. */
    void start(String name, String program, List<String> arguments) throws IOException {
        Path log = folder.resolve(name + ".log");
        List<String> command = Stream.of(
                        Files.isExecutable(SETSID) ? List.of(SETSID.toString()) : List.<String>of(),
                        programs.command(program),
                        arguments)
                .flatMap(List::stream)
                .toList();
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(log.toFile())
                .redirectErrorStream(true);
        // What is configured for other agents of this host is not for these.
        builder.environment()
                .keySet()
                .removeIf(variable -> variable.startsWith("FARPAGE_")
                        && !variable.equals("FARPAGE_JAVA_OPTS")
                        && !variable.equals("FARPAGE_AOT"));
        builder.environment().putAll(Member.environment(folder, name));
        started.add(new Started(name, builder.start(), log));
    }

    /**
     * Waits until something is so.
     *
     * @throws LocalClusterException if a process ends before, or at the deadline; with the last lines of its log
     */
    void await(String what, Duration deadline, BooleanSupplier isSo) throws InterruptedException {
        long end = System.nanoTime() + deadline.toNanos();
        while (!isSo.getAsBoolean()) {
            for (Started each : started) {
                if (!each.process().isAlive()) {
                    throw new LocalClusterException("%s ended with exit code %d before %s: %s"
                            .formatted(each.name(), each.process().exitValue(), what, lastWords(each.log())));
                }
            }
            if (System.nanoTime() - end > 0) {
                Started last = started.getLast();
                throw new LocalClusterException(
                        "%s took longer than %d s: %s".formatted(what, deadline.toSeconds(), lastWords(last.log())));
            }
            TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
        }
    }

    private static String lastWords(Path log) {
        try {
            List<String> lines = new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank())
                    .toList();
            return String.join(" / ", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size())) + " (log: "
                    + log + ")";
        } catch (IOException e) {
            return "log: " + log;
        }
    }
}
