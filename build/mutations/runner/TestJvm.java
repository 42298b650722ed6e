import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A JVM with a {@link Worker} in it that runs the tests of one module; started when it is needed and again when a fault
 * has ended it.
 */
final class TestJvm implements AutoCloseable {
    /** What a run of tests came to; {@code failure} names the first failure, if there was one. */
    record Run(int tests, Optional<String> failure, long nanos) {}

    /** How long tests go on after the first has failed. */
    private static final long AFTER_FAILURE_MILLIS = 2_000;

    private static final long START_MILLIS = 60_000;

    private static final String ENDED = "";

    private final Path module;
    private final Path workerClasses;
    private Optional<Process> process = Optional.empty();
    private BlockingQueue<String> said = new LinkedBlockingQueue<>();

    TestJvm(Path module, Path workerClasses) {
        this.module = module;
        this.workerClasses = workerClasses;
    }

    Path module() {
        return module;
    }

    /** Compiles the worker; empty if it compiles, else what the compiler says. */
    static String compileWorker(Path into) throws IOException {
        return compile(Path.of("build", "mutations", "runner", "Worker.java"), into, libraries(Path.of("rdma-verbs")));
    }

    /** Compiles one source file of the module; empty if it compiles, else what the compiler says. */
    String compile(Path file, Path into) throws IOException {
        return compile(file, into, project(module) + ":" + libraries(module));
    }

    private static String compile(Path file, Path into, String classPath) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean right = compiler.getTask(
                            messages,
                            files,
                            null,
                            List.of("-d", into.toString(), "-cp", classPath, "-proc:none", "-nowarn", "-parameters"),
                            null,
                            files.getJavaFileObjects(file))
                    .call();
            return right ? "" : messages.toString();
        }
    }

    /**
     * Runs tests, with the classes in {@code first} before all others. A run beyond its time counts as failed and ends
     * the JVM.
     */
    Run run(Optional<Path> first, List<String> tests, long timeoutMillis) throws IOException, InterruptedException {
        long began = System.nanoTime();
        String path = first.map(classes -> classes.toAbsolutePath() + "/:").orElse("") + project(module);
        if (process.isEmpty()) {
            start();
        }
        Writer in = process.orElseThrow().outputWriter();
        in.write(path + "\t" + String.join(" ", tests) + "\n");
        in.flush();
        Optional<String> failure = Optional.empty();
        int ran = 0;
        long left = timeoutMillis;
        for (boolean done = false; !done; ) {
            String line = said.poll(left, TimeUnit.MILLISECONDS);
            if (line == null) {
                if (failure.isEmpty()) {
                    failure = Optional.of("no end within " + timeoutMillis / 1000 + " s");
                }
                stop();
                done = true;
            } else if (line.equals(ENDED)) {
                int exit = process.orElseThrow().waitFor();
                process = Optional.empty();
                failure = failure.or(() -> Optional.of("the JVM ended with " + exit));
                done = true;
            } else if (line.startsWith("failed ")) {
                failure = Optional.of(line.substring("failed ".length()));
                left = AFTER_FAILURE_MILLIS;
            } else if (line.startsWith("done ")) {
                String[] words = line.split(" ");
                ran = Integer.parseInt(words[1]);
                if (!words[2].equals("0")) {
                    stop();
                }
                done = true;
            }
        }
        return new Run(ran, failure, System.nanoTime() - began);
    }

    private void start() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("bin/java-flags").toAbsolutePath(),
                // What the project compiles is loaded anew for each fault, so code that is compiled well is not used
                // for long.
                "-XX:TieredStopAtLevel=1",
                "-Djava.net.preferIPv4Stack=false",
                "-XX:ErrorFile=/dev/null",
                "-XX:-CreateCoredumpOnCrash",
                "-Dfarpage.root=" + Path.of("").toAbsolutePath(),
                "-cp",
                workerClasses.toAbsolutePath() + ":" + libraries(module) + ":" + libraries(Path.of("rdma-verbs")),
                "Worker"));
        Process started = new ProcessBuilder(command)
                .directory(module.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Thread.ofVirtual().start(() -> {
            try (BufferedReader out = started.inputReader()) {
                out.lines().forEach(lines::add);
            } catch (IOException | RuntimeException e) {
                // The JVM ended in the middle of a line.
            } finally {
                lines.add(ENDED);
            }
        });
        said = lines;
        process = Optional.of(started);
        // A JVM that does not start has noticed no fault.
        if (!"ready".equals(lines.poll(START_MILLIS, TimeUnit.MILLISECONDS))) {
            stop();
            throw new IOException("the JVM for the tests of " + module + " does not start: " + command);
        }
    }

    private void stop() throws InterruptedException {
        if (process.isPresent()) {
            Process old = process.get();
            process = Optional.empty();
            old.descendants().forEach(ProcessHandle::destroyForcibly);
            old.destroyForcibly().waitFor();
        }
    }

    @Override
    public void close() {
        try {
            stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String project(Path module) throws IOException {
        Path target = module.resolve("target").toAbsolutePath();
        return Stream.concat(
                        Stream.of(target.resolve("test-classes") + "/", target.resolve("classes") + "/"),
                        entries(module)
                                .filter(TestJvm::isOfProject)
                                .map(entry -> Files.isDirectory(Path.of(entry)) ? entry + "/" : entry))
                .collect(Collectors.joining(":"));
    }

    private static String libraries(Path module) throws IOException {
        return entries(module).filter(entry -> !isOfProject(entry)).collect(Collectors.joining(":"));
    }

    private static Stream<String> entries(Path module) throws IOException {
        // Written by build/mutate.
        return Stream.of(Files.readString(module.resolve("target/class-path")).split(":"))
                .filter(entry -> !entry.isEmpty());
    }

    private static boolean isOfProject(String entry) {
        return entry.startsWith(Path.of("").toAbsolutePath() + "/");
    }
}
