package io.farpage.bench.fault;

import io.farpage.bench.pattern.PagePattern;
import java.util.Locale;
import java.util.OptionalLong;

/** What is looked at, and what it is compared with. */
enum FaultCase {
    /** One fault at a time, each with a fetch of its own, against C. */
    RANDOM,
    /** Several threads that fault side by side, against C. */
    THREADS,
    /** Prefetching where it helps, against none. */
    SEQUENTIAL_PREFETCH,
    /** Prefetching where it cannot help, against none. */
    RANDOM_PREFETCH,
    /** All pages may be resident, against no limit. */
    LOCAL_100,
    /** Half of them, so that the rest of the faults come with evictions. */
    LOCAL_50,
    /** A quarter. */
    LOCAL_25;

    private static final int WHOLE = 100;

    /**
     * How one side of a comparison is run.
     *
     * @param label what an agent so configured is called as a baseline
     * @param prefetch pages that one fetch may bring
     * @param local pages that may be resident
     */
    record Side(String label, int prefetch, OptionalLong local) {}

    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    PagePattern pattern() {
        return this == SEQUENTIAL_PREFETCH ? PagePattern.SEQUENTIAL : PagePattern.RANDOM;
    }

    int threads(FaultPlan plan) {
        return this == THREADS ? plan.given().threads : 1;
    }

    boolean isAgainstC() {
        return this == RANDOM || this == THREADS;
    }

    /** Whether pages are taken out, which only shared memory allows. */
    boolean evicts() {
        return percent() > 0;
    }

    /** The agent that is looked at. */
    Side measured(FaultPlan plan) {
        boolean prefetches = this == SEQUENTIAL_PREFETCH || this == RANDOM_PREFETCH;
        return new Side(
                "farpage",
                prefetches ? plan.given().prefetch : 1,
                evicts() ? OptionalLong.of(plan.given().pages * percent() / WHOLE) : OptionalLong.empty());
    }

    /** The agent that it is compared with, unless that is C. */
    Side reference() {
        return new Side(evicts() ? "farpage-no-limit" : "farpage-prefetch-off", 1, OptionalLong.empty());
    }

    private int percent() {
        return switch (this) {
            case LOCAL_100 -> WHOLE;
            case LOCAL_50 -> 50;
            case LOCAL_25 -> 25;
            case RANDOM, THREADS, SEQUENTIAL_PREFETCH, RANDOM_PREFETCH -> 0;
        };
    }
}
