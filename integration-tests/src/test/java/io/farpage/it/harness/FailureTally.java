package io.farpage.it.harness;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What a test with random failures has done, and what it has found. */
public final class FailureTally {
    private final long seed;
    private final Map<Failure, List<Long>> pauses = new EnumMap<>(Failure.class);
    private final List<CheckedPages> loads = new ArrayList<>();

    public FailureTally(long seed) {
        this.seed = seed;
    }

    /** Counts what these threads do. */
    public void watch(CheckedPages load) {
        loads.add(load);
    }

    /**
     * Counts a failure.
     *
     * @param millis how long it lasted
     * @param pauseNanos longest time that an access of the guest took, from the failure until all was repaired
     */
    public void add(Failure failure, long millis, long pauseNanos) {
        System.out.printf("%s of %d ms: longest access %.1f ms%n", failure, millis, pauseNanos / 1e6);
        pauses.computeIfAbsent(failure, _ -> new ArrayList<>()).add(pauseNanos);
    }

    /** Failures so far. */
    public int failures() {
        return pauses.values().stream().mapToInt(List::size).sum();
    }

    /** Prints a line for each kind of failure, and one for all. */
    public void print() {
        pauses.forEach((failure, all) -> {
            List<Long> sorted = all.stream().sorted().toList();
            System.out.printf(
                    "%-26s %4d times; longest access of each: p50 %.1f ms, p99 %.1f ms, max %.1f ms%n",
                    failure,
                    sorted.size(),
                    percentile(sorted, 50) / 1e6,
                    percentile(sorted, 99) / 1e6,
                    sorted.getLast() / 1e6);
        });
        System.out.printf(
                "seed %d: %d failures, %d pages compared, %d wrong, %d lost, longest pause %.1f ms%n",
                seed,
                failures(),
                loads.stream().mapToLong(CheckedPages::compared).sum(),
                loads.stream().mapToInt(load -> load.wrong().size()).sum(),
                loads.stream().mapToInt(load -> load.lost().size()).sum(),
                pauses.values().stream()
                                .flatMap(List::stream)
                                .mapToLong(pause -> pause)
                                .max()
                                .orElse(0)
                        / 1e6);
    }

    private static long percentile(List<Long> sorted, int percent) {
        return sorted.get(Math.max(0, Math.ceilDiv(sorted.size() * percent, 100) - 1));
    }
}
