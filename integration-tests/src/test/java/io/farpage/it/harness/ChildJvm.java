package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * A child JVM: with a program of target/farpage where Maven has packaged the modules, else with this one's class path.
 * Its output goes to files; closing it kills it.
 */
public final class ChildJvm implements AutoCloseable {
    /** Test JVMs that run side by side number their children alike. */
    private static final Path OUTPUT = Path.of(
                    "target", "it", Long.toString(ProcessHandle.current().pid()))
            .toAbsolutePath();

    /** Not below the output: the path of a socket has at most 107 bytes. */
    private static final Path SOCKETS = socketDirectory();

    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final Duration END_TIMEOUT = Duration.ofSeconds(60);
    /** As programs have them, with a small heap; C1 alone, since most children live for seconds. */
    private static final List<String> FLAGS = List.of(
            "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
            "-Xms16m",
            "-Xmx128m",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            "-XX:TieredStopAtLevel=1");

    private static final String PROGRAMS =
            Path.of(System.getProperty("farpage.root"), "bin").toString() + "/";

    private static final List<String> JAVA = Stream.concat(
                    Stream.of(Path.of(System.getProperty("java.home"), "bin", "java")
                            .toString()),
                    FLAGS.stream())
            .toList();

    /** Only tests with {@code @Tag("processes")} start programs, so that {@code make test} takes minutes. */
    static void refuseInQuickTests(String name) {
        if (Boolean.getBoolean("farpage.quick")) {
            throw new IllegalStateException(
                    "%s is a program of its own, and make test starts none: give the test @Tag(\"processes\")"
                            .formatted(name));
        }
    }

    private static boolean isInJar(Class<?> main) {
        return main.getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath()
                .endsWith(".jar");
    }

    private final String name;
    private final Process process;
    private final Path out;
    private final Path err;
    private boolean stopped;

    private ChildJvm(String name, Process process, Path out, Path err) {
        this.name = name;
        this.process = process;
        this.out = out;
        this.err = err;
    }

    /** Starts a main class. */
    public static ChildJvm start(String name, Class<?> main, List<String> arguments) {
        return start(name, main, arguments, Map.of());
    }

    /** As {@link #start(String, Class, List)}, with variables added to the environment. */
    public static ChildJvm start(String name, Class<?> main, List<String> arguments, Map<String, String> environment) {
        return start(name, main, arguments, environment, "");
    }

    /** As {@link #start(String, Class, List, Map)}, with standard input. */
    public static ChildJvm start(
            String name, Class<?> main, List<String> arguments, Map<String, String> environment, String input) {
        refuseInQuickTests(name);
        List<String> command = new ArrayList<>(JAVA);
        if (isInJar(main)) {
            command.addAll(AssembledPrograms.ARGUMENTS);
        } else {
            command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        }
        command.add(main.getName());
        command.addAll(arguments);
        return launch(name, command, environment, Path.of(""), input);
    }

    private static Path socketDirectory() {
        try {
            Path directory = Files.createTempDirectory("farpage-it");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> Directories.delete(directory), "delete-sockets"));
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A file beside the output of the children of this JVM, which stays when the tests have ended. */
    static Path output(String name) {
        try {
            return Files.createDirectories(OUTPUT).resolve(name);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The Unix socket of the REST API of an agent that this started. */
    public Path socket() {
        return SOCKETS.resolve(out.getFileName().toString().replaceFirst("[.]out$", ".sock"));
    }

    /** Starts any command, from a directory. */
    public static ChildJvm launch(String name, List<String> command, Map<String, String> environment, Path from) {
        if (command.stream().anyMatch(word -> word.startsWith(PROGRAMS))) {
            refuseInQuickTests(name);
        }
        return launch(name, command, environment, from, "");
    }

    private static ChildJvm launch(
            String name, List<String> command, Map<String, String> environment, Path from, String input) {
        String file = String.format(Locale.ROOT, "%03d-%s", COUNT.incrementAndGet(), name);
        try {
            Files.createDirectories(OUTPUT);
            Path out = OUTPUT.resolve(file + ".out");
            Path err = OUTPUT.resolve(file + ".err");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .directory(from.toAbsolutePath().toFile());
            builder.environment().keySet().removeIf(variable -> variable.startsWith("FARPAGE_"));
            // Agents of tests that run at the same time may have the same id, by which an agent names its socket.
            builder.environment()
                    .put("FARPAGE_API_SOCKET", SOCKETS.resolve(file + ".sock").toString());
            builder.environment().putAll(environment);
            Process process = builder.start();
            try (OutputStream in = process.getOutputStream()) {
                in.write(input.getBytes(StandardCharsets.UTF_8));
            }
            Reaper.watch(process.pid());
            return new ChildJvm(name, process, out, err);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public long pid() {
        return process.pid();
    }

    /** The processes that it and its children have started and that still run. */
    public List<ProcessHandle> descendants() {
        return process.descendants().toList();
    }

    public String name() {
        return name;
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** kill -9, and waits for the end. */
    public void kill() {
        if (process.isAlive()) {
            Signals.send(pid(), Signals.KILL);
        }
        awaitEnd();
    }

    /**
     * SIGSTOP: the process keeps its memory and connections and does nothing. Waits until all its threads have stopped:
     * the signal takes effect when the one that receives it is scheduled, and on a loaded machine the others run on
     * until then.
     */
    public void stop() {
        Signals.send(pid(), Signals.STOP);
        stopped = true;
        await(name + " stops", END_TIMEOUT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> ProcFs.isStopped(pid()));
    }

    /** SIGCONT. */
    public void resume() {
        Signals.send(pid(), Signals.CONT);
        stopped = false;
    }

    /** SIGINT, as Ctrl-C sends it, without waiting. Skips the test if the process ignores it. */
    public void interrupt() {
        assumeFalse(
                ProcFs.isIgnored(pid(), Signals.INT),
                "SIGINT is ignored by what these tests are started from, as a script's background jobs do");
        Signals.send(pid(), Signals.INT);
    }

    /** SIGTERM, without waiting. */
    public void terminate() {
        Signals.send(pid(), Signals.TERM);
    }

    /** Waits for the end and gives the exit code. */
    public int awaitEnd() {
        try {
            int code = Deadlines.exit("the end of " + name, END_TIMEOUT, process);
            Reaper.forget(pid());
            return code;
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + describe(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Standard output so far. */
    public String out() {
        return read(out);
    }

    /** Standard error so far, which has the log. */
    public String err() {
        return read(err);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What each thread waits for in the kernel: its state and kernel stack. */
    public String threads() {
        StringBuilder all = new StringBuilder();
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(pid()), "task"))) {
            for (Path task : tasks.sorted().toList()) {
                all.append("thread ").append(task.getFileName()).append(": ");
                all.append(read(task.resolve("status")).replaceAll("(?s).*State:\\t([^\n]*).*", "$1"));
                all.append('\n').append(read(task.resolve("stack")));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all.toString();
    }

    /** What a person needs who looks at a failure. */
    String describe() {
        String state = isAlive() ? stopped ? "stopped" : "alive" : "ended with " + process.exitValue();
        return "---- %s, pid %d, %s%n%s%s".formatted(name, pid(), state, out(), err());
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.destroyForcibly();
            awaitEnd();
        }
    }
}
