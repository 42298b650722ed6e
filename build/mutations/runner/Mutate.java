import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Runs the faults of build/mutations; see build/mutate, which starts this. */
public final class Mutate {
    private static final double ENOUGH = 0.9;
    private static final long TIMEOUT_MILLIS = 20_000;
    private static final long TIMEOUT_WITHOUT_FAULT_MILLIS = 240_000;

    private enum Outcome {
        KILLED,
        SURVIVED,
        BROKEN
    }

    private record Result(Mutation mutation, Outcome outcome, String detail) {}

    private static final class TestsFail extends Exception {
        TestsFail(String message) {
            super(message);
        }
    }

    private final Path scratch;
    private final Path workerClasses;
    private final AtomicInteger made = new AtomicInteger();

    private Mutate(Path scratch) throws IOException {
        this.scratch = scratch;
        this.workerClasses = Files.createDirectory(scratch.resolve("worker"));
    }

    public static void main(String[] args) throws Exception {
        List<Mutation> mutations = new ArrayList<>();
        for (String name : args.length > 0 ? List.of(args) : Mutation.lists()) {
            mutations.addAll(Mutation.read(name));
        }
        if (!areUpToDate(mutations)) {
            System.exit(2);
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

    /** Names all faults whose text is not found, before anything runs. */
    private static boolean areUpToDate(List<Mutation> mutations) throws IOException {
        boolean right = true;
        for (Mutation mutation : mutations) {
            try {
                mutation.apply();
            } catch (Mutation.OutOfDate e) {
                System.err.println("mutate: the list is out of date: " + mutation.where() + ": " + e.getMessage());
                right = false;
            }
        }
        return right;
    }

    private boolean run(List<Mutation> mutations) throws Exception {
        String refused = TestJvm.compileWorker(workerClasses);
        if (!refused.isEmpty()) {
            throw new IllegalStateException("the worker does not compile: " + refused);
        }
        // Faults with the same tests share a JVM, which runs these tests without any fault first.
        Map<String, List<Mutation>> groups = new LinkedHashMap<>();
        for (Mutation mutation : mutations) {
            groups.computeIfAbsent(mutation.module() + " " + mutation.tests(), _ -> new ArrayList<>())
                    .add(mutation);
        }
        // More JVMs than CPUs would make tests fail for their time-outs, and every fault look killed.
        int jobs = Optional.ofNullable(System.getenv("JOBS"))
                .map(Integer::parseInt)
                .orElse(Math.max(1, Runtime.getRuntime().availableProcessors()));
        long began = System.nanoTime();
        List<Result> results = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(jobs)) {
            List<Future<List<Result>>> running = new ArrayList<>();
            for (List<Mutation> group : groups.values()) {
                running.add(threads.submit(() -> tryOut(group)));
            }
            for (Future<List<Result>> one : running) {
                results.addAll(one.get());
            }
        }
        boolean right = report(results);
        System.out.printf("in %d s%n", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began));
        return right;
    }

    private List<Result> tryOut(List<Mutation> group) throws Exception {
        List<Result> results = new ArrayList<>();
        try (TestJvm jvm = new TestJvm(group.getFirst().module(), workerClasses)) {
            long timeout = TIMEOUT_MILLIS + 5 * requireGreen(jvm, group.getFirst().tests()) / 1_000_000;
            for (Mutation mutation : group) {
                Result result = tryOut(jvm, mutation, timeout);
                results.add(result);
                synchronized (this) {
                    System.out.println(
                            result.outcome().name().toLowerCase() + "  " + mutation.where() + result.detail());
                }
            }
            // A fault that has broken the JVM for the tests behind it would make them look as if they had noticed
            // something.
            requireGreen(jvm, group.getFirst().tests());
        } catch (TestsFail e) {
            for (Mutation mutation : group.subList(results.size(), group.size())) {
                results.add(new Result(mutation, Outcome.BROKEN, ": " + e.getMessage()));
            }
            if (results.size() == group.size()) {
                results.set(0, new Result(group.getFirst(), Outcome.BROKEN, ": " + e.getMessage()));
            }
            System.out.println("broken  " + group.getFirst().where() + " and those behind it: " + e.getMessage());
        }
        return results;
    }

    /**
     * How long the tests take without a fault, in nanoseconds. Tests that fail without one would take every fault for
     * killed.
     */
    private static long requireGreen(TestJvm jvm, List<String> tests)
            throws IOException, InterruptedException, TestsFail {
        TestJvm.Run run = jvm.run(Optional.empty(), tests, TIMEOUT_WITHOUT_FAULT_MILLIS);
        if (run.failure().isPresent()) {
            throw new TestsFail("its tests fail without a fault: " + tests + ": " + run.failure().get());
        } else if (run.tests() == 0) {
            throw new TestsFail("there are no tests in " + tests);
        }
        return run.nanos();
    }

    private Result tryOut(TestJvm jvm, Mutation mutation, long timeoutMillis) throws Exception {
        Path classes = Files.createDirectory(scratch.resolve(Integer.toString(made.getAndIncrement())));
        Path file = classes.resolve(mutation.file().getFileName());
        Files.writeString(file, mutation.apply());
        String refused = jvm.compile(file, classes);
        if (!refused.isEmpty()) {
            return new Result(
                    mutation, Outcome.BROKEN, ": does not compile: " + refused.lines().limit(3).toList());
        }
        TestJvm.Run run = jvm.run(Optional.of(classes), mutation.tests(), timeoutMillis);
        String seconds = "  [%.1f s]".formatted(run.nanos() / 1e9);
        return run.failure()
                .map(failure -> new Result(mutation, Outcome.KILLED, " (" + failure + ")" + seconds))
                .orElseGet(() -> new Result(
                        mutation,
                        Outcome.SURVIVED,
                        mutation.survives().map(why -> " (" + why + ")").orElse(" (NO REASON IS LISTED)") + seconds));
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
        System.out.println();
        for (Result result : results) {
            if (result.outcome() != Outcome.KILLED) {
                System.out.println(result.outcome().name().toLowerCase() + "  "
                        + result.mutation().where() + result.detail());
            }
        }
        long killed = 0;
        for (Map.Entry<String, long[]> count : counts.entrySet()) {
            long of = 0;
            for (long some : count.getValue()) {
                of += some;
            }
            killed += count.getValue()[Outcome.KILLED.ordinal()];
            boolean enough = count.getValue()[Outcome.KILLED.ordinal()] >= ENOUGH * of;
            right &= enough;
            System.out.printf(
                    "%-10s %d of %d killed%s%n",
                    count.getKey(),
                    count.getValue()[Outcome.KILLED.ordinal()],
                    of,
                    enough ? "" : ": fewer than nine of ten");
        }
        System.out.printf(
                "%d of %d faults killed (%.0f %%)%n", killed, results.size(), 100.0 * killed / results.size());
        return right;
    }
}
