import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Runs the faults of build/mutations; see build/mutate, which starts this. */
public final class Mutate {
    private static final Path LISTS = Path.of("build", "mutations");
    private static final int PATIENCE_SECONDS = 240;
    private static final double ENOUGH = 0.9;

    private record Mutation(
            String list, Path file, List<String> tests, String name, List<String> old, List<String> put, Optional<String> survives) {
        Path module() {
            return file.getName(0);
        }

        String where() {
            return list + ": " + file.getFileName().toString().replace(".java", "") + ": " + name;
        }
    }

    private enum Outcome {
        KILLED,
        SURVIVED,
        BROKEN
    }

    private record Result(Mutation mutation, Outcome outcome, String detail) {}

    private final Path scratch;

    private Mutate(Path scratch) {
        this.scratch = scratch;
    }

    public static void main(String[] args) throws Exception {
        List<Mutation> mutations = new ArrayList<>();
        List<String> names = args.length > 0 ? List.of(args) : lists();
        for (String name : names) {
            mutations.addAll(read(name));
        }
        Path scratch = Files.createTempDirectory("farpage-mutations");
        boolean right;
        try {
            right = new Mutate(scratch).run(mutations);
        } finally {
            try (Stream<Path> files = Files.walk(scratch)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
        System.exit(right ? 0 : 1);
    }

    private static List<String> lists() throws IOException {
        try (Stream<Path> files = Files.list(LISTS)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    private static List<Mutation> read(String list) throws IOException {
        List<Mutation> mutations = new ArrayList<>();
        Optional<Path> file = Optional.empty();
        List<String> tests = List.of();
        String text = Files.readString(LISTS.resolve(list));
        for (String block : text.split("\n\\s*\n")) {
            String name = "";
            List<String> old = new ArrayList<>();
            List<String> put = new ArrayList<>();
            Optional<String> survives = Optional.empty();
            for (String line : block.strip().lines().map(String::strip).toList()) {
                if (line.startsWith("#") || line.isEmpty()) {
                    continue;
                } else if (line.startsWith("file ")) {
                    file = Optional.of(Path.of(line.substring("file ".length())));
                } else if (line.startsWith("tests ")) {
                    tests = List.of(line.substring("tests ".length()).split(" +"));
                } else if (line.startsWith("survives ")) {
                    survives = Optional.of(line.substring("survives ".length()));
                } else if (line.startsWith("- ")) {
                    old.add(line.substring(2).strip());
                } else if (line.startsWith("+ ")) {
                    put.add(line.substring(2).strip());
                } else {
                    name = name.isEmpty() ? line : name + " " + line;
                }
            }
            if (!old.isEmpty()) {
                Path of = file.orElseThrow(() -> new IllegalArgumentException(list + ": no file line before a fault"));
                mutations.add(new Mutation(list, of, tests, name, old, put, survives));
            } else if (!name.isEmpty()) {
                throw new IllegalArgumentException(list + ": \"" + name + "\" takes nothing out");
            }
        }
        return mutations;
    }

    private boolean run(List<Mutation> mutations) throws Exception {
        // Twice as many processes as CPUs would make tests fail for their time-outs, and every fault look killed.
        int workers = Math.max(1, Runtime.getRuntime().availableProcessors());
        List<Result> results = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(workers)) {
            requireGreen(mutations, threads);
            List<Future<Result>> running = new ArrayList<>();
            for (int i = 0; i < mutations.size(); i++) {
                Mutation mutation = mutations.get(i);
                Path classes = scratch.resolve(Integer.toString(i));
                running.add(threads.submit(() -> tryOut(mutation, classes)));
            }
            for (Future<Result> one : running) {
                Result result = one.get();
                results.add(result);
                System.out.println(result.outcome().name().toLowerCase() + "  "
                        + result.mutation().where() + result.detail());
            }
        }
        return report(results);
    }

    /** Tests that fail without a fault would take every fault for killed. */
    private void requireGreen(List<Mutation> mutations, ExecutorService threads) throws Exception {
        Map<String, Future<Integer>> runs = new LinkedHashMap<>();
        for (Mutation mutation : mutations) {
            String key = mutation.module() + " " + String.join(" ", mutation.tests());
            Callable<Integer> test = () -> test(mutation, Optional.empty());
            runs.computeIfAbsent(key, _ -> threads.submit(test));
        }
        for (Map.Entry<String, Future<Integer>> run : runs.entrySet()) {
            if (run.getValue().get() != 0) {
                System.err.println("mutate: these tests fail without any fault, or there are none: " + run.getKey());
                System.exit(1);
            }
        }
    }

    private Result tryOut(Mutation mutation, Path classes) throws Exception {
        String source = Files.readString(mutation.file());
        Pattern old = Pattern.compile(
                mutation.old().stream().map(Pattern::quote).collect(Collectors.joining("\\s*\n\\s*")));
        Matcher matcher = old.matcher(source);
        long found = matcher.results().count();
        if (found != 1) {
            return new Result(mutation, Outcome.BROKEN, ": its text occurs " + found + " times in the file, not once");
        }
        String changed = matcher.reset().replaceFirst(Matcher.quoteReplacement(String.join("\n", mutation.put())));
        Path file = Files.createDirectories(classes).resolve(mutation.file().getFileName());
        Files.writeString(file, changed);
        String refused = compile(file, classes, mutation.module());
        if (!refused.isEmpty()) {
            return new Result(mutation, Outcome.BROKEN, " does not compile: " + refused.lines().limit(3).toList());
        }
        int exit = test(mutation, Optional.of(classes));
        if (exit == 0) {
            return new Result(
                    mutation, Outcome.SURVIVED, mutation.survives().map(why -> " (" + why + ")").orElse(""));
        }
        return new Result(mutation, Outcome.KILLED, exit == 1 ? "" : " (ended with " + exit + ")");
    }

    private static String compile(Path file, Path into, Path module) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter said = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean right = compiler.getTask(
                            said,
                            files,
                            null,
                            List.of("-d", into.toString(), "-cp", classPath(module), "-proc:none", "-nowarn", "-parameters"),
                            null,
                            files.getJavaFileObjects(file))
                    .call();
            return right ? "" : said.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The exit code of the tests: 0 if all passed, 1 if one failed, another if the JVM ended by itself or there are no tests. */
    private int test(Mutation mutation, Optional<Path> classes) throws Exception {
        Path home = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(
                home.toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-Djava.net.preferIPv4Stack=false",
                "-Djunit.jupiter.execution.timeout.default=60 s",
                "-Dfarpage.root=" + Path.of("").toAbsolutePath(),
                "-cp",
                classes.map(first -> first.toAbsolutePath() + ":").orElse("") + classPath(mutation.module()),
                "org.junit.platform.console.ConsoleLauncher",
                "execute",
                "--disable-banner",
                "--details=none",
                "--fail-if-no-tests",
                "--exclude-tag=soak"));
        mutation.tests().forEach(test -> command.addAll(List.of("-c", test)));
        Process process = new ProcessBuilder(command)
                .directory(mutation.module().toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        return process.exitValue();
    }

    private static String classPath(Path module) throws IOException {
        String own = module.resolve("target/test-classes").toAbsolutePath() + ":"
                + module.resolve("target/classes").toAbsolutePath() + ":";
        // The console that runs the tests is a dependency of rdma-verbs alone.
        return own + Files.readString(module.resolve("target/class-path")) + ":"
                + Files.readString(Path.of("rdma-verbs/target/class-path"));
    }

    private static boolean report(List<Result> results) {
        Map<String, long[]> counts = new LinkedHashMap<>();
        boolean right = true;
        for (Result result : results) {
            long[] count = counts.computeIfAbsent(result.mutation().list(), _ -> new long[Outcome.values().length]);
            count[result.outcome().ordinal()]++;
            right &= switch (result.outcome()) {
                case KILLED -> true;
                case SURVIVED -> result.mutation().survives().isPresent();
                case BROKEN -> false;
            };
        }
        long killed = 0;
        for (Map.Entry<String, long[]> count : counts.entrySet()) {
            killed += count.getValue()[0];
            System.out.printf(
                    "%-10s %3d killed, %d survived, %d out of date%n",
                    count.getKey(), count.getValue()[0], count.getValue()[1], count.getValue()[2]);
        }
        System.out.printf("%d of %d faults killed (%.0f %%)%n", killed, results.size(), 100.0 * killed / results.size());
        return right && killed >= ENOUGH * results.size();
    }
}
