package io.farpage.it.simulation;

import ch.qos.logback.classic.Level;
import io.farpage.it.simulation.loader.LoggedErrors;
import io.farpage.it.simulation.loader.SeededRandomness;
import io.farpage.it.simulation.loader.SimulationLoader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * Runs a cluster under simulation: {@code make simulate ARGS='--seed 7 --seconds 60'}. Prints the seed first; a failure
 * prints the last steps, and the same seed fails in the same way again.
 */
public final class Simulation {
    private static final AtomicInteger runs = new AtomicInteger();

    private Simulation() {}

    /**
     * What came out of a seed.
     *
     * @param failure what rule was broken; empty if none
     * @param report totals, one line
     * @param steps the last ones, in words
     * @param fingerprint of all that happened
     * @param faults how many there were, those included that were left out
     * @param ended virtual seconds until the end
     */
    public record Outcome(
            long seed, String failure, String report, String steps, long fingerprint, int faults, double ended) {
        public boolean failed() {
            return !failure.isEmpty();
        }
    }

    /** Runs one seed for so long in virtual time. Options are those of the command line without dashes. */
    public static Outcome run(long seed, Map<String, String> options) {
        Map<String, String> all = new HashMap<>(options);
        Path directory = newDirectory();
        all.put("directory", directory.toString());
        SeededRandomness.begin(seed);
        try {
            Class<?> scenario = new SimulationLoader().loadClass("io.farpage.it.simulation.world.Scenario");
            @SuppressWarnings("unchecked")
            Map<String, String> result = (Map<String, String>)
                    scenario.getMethod("run", long.class, Map.class).invoke(null, seed, all);
            return new Outcome(
                    seed,
                    result.getOrDefault("failure", ""),
                    result.getOrDefault("report", ""),
                    result.getOrDefault("steps", ""),
                    Long.parseLong(result.getOrDefault("fingerprint", "0")),
                    Integer.parseInt(result.getOrDefault("faults", "0")),
                    Double.parseDouble(result.getOrDefault("ended", "0")));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException("seed " + seed, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            delete(directory);
        }
    }

    /** Its name takes randomness, so it is made before the seed counts. */
    private static Path newDirectory() {
        try {
            return Files.createDirectory(Path.of(
                    System.getProperty("java.io.tmpdir"),
                    "simulation-" + ProcessHandle.current().pid() + "-" + runs.incrementAndGet()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Runs seeds until one fails, or as many as {@code --runs} says; with {@code --go-on true} whether one fails or
     * not. Exit status 1 if one failed.
     */
    public static void main(String[] args) {
        Map<String, String> options = options(args);
        LoggedErrors.install(Level.toLevel(options.getOrDefault("log", "OFF")));
        long seed = Long.parseLong(options.getOrDefault("seed", Long.toString(System.nanoTime() & 0xFFFF_FFFFL)));
        int runs = Integer.parseInt(options.getOrDefault("runs", "1"));
        boolean goesOn = Boolean.parseBoolean(options.getOrDefault("go-on", "false"));
        int failed = 0;
        for (int i = 0; i < runs && (failed == 0 || goesOn); i++) {
            System.out.println("seed " + (seed + i));
            long began = System.nanoTime();
            Outcome outcome = run(seed + i, options);
            double took = (System.nanoTime() - began) / 1e9;
            if (outcome.failed()) {
                System.out.println(outcome.steps());
            }
            System.out.println(outcome.report());
            System.out.printf(
                    Locale.ROOT,
                    "seed %d: %s, %.1f s, fingerprint %016x%n",
                    outcome.seed(),
                    outcome.failed() ? "FAILED: " + outcome.failure() : "ok",
                    took,
                    outcome.fingerprint());
            failed += outcome.failed() ? 1 : 0;
            if (outcome.failed() && options.containsKey("shorten")) {
                long budget = (long) (Double.parseDouble(options.get("shorten")) * 1e9);
                System.out.println(new Shortening(fewer -> run(outcome.seed(), fewer), options, budget).of(outcome));
            }
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    private static Map<String, String> options(String[] args) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        return options;
    }
}
