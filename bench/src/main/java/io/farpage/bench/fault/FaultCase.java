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
    LOCAL_25,
    /** Pages that are sealed for their home, against pages that are not. */
    ENCRYPTED,
    /** The same with a quarter of them resident, so that pages are sealed, too. */
    ENCRYPTED_LOCAL_25,
    /** Pages that have two homes, against pages that have one. */
    MIRRORED,
    /** The same with a quarter of them resident, so that pages are written to both homes, too. */
    MIRRORED_LOCAL_25,
    /** Pages of a coherent space with one member, against pages of a space with one guest. */
    COHERENT,
    /** The same with a quarter of them resident, so that pages are sent home, too. */
    COHERENT_LOCAL_25,
    /** While metrics and the dashboard's overview are read every second, against none that are read. */
    OBSERVED,
    /** Beside a guest that writes more memory than may be resident, prefetched and written back, against none. */
    MIXED,
    /** The same with a guest that has pages of 2 MiB. */
    MIXED_LARGE;

    private static final int WHOLE = 100;

    /**
     * How one side of a comparison is run.
     *
     * @param label what an agent so configured is called as a baseline
     * @param prefetch pages that one fetch may bring
     * @param local pages that may be resident
     * @param space whose pages are touched
     * @param beside what else the agents do meanwhile
     */
    record Side(String label, int prefetch, OptionalLong local, FaultSpace space, Beside beside) {}

    /** What agents do beside the faults that are measured. */
    enum Beside {
        NOTHING,
        /** Metrics and the dashboard's overview are read. */
        READERS,
        /** They serve another guest, which writes its memory again and again. */
        STREAM,
        /** The same in pages of 2 MiB. */
        LARGE_STREAM
    }

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
        return new Side("farpage", prefetches ? plan.given().prefetch : 1, local(plan), space(), beside());
    }

    /** Whether the agents serve another guest beside. */
    boolean hasOtherGuest() {
        return beside() == Beside.STREAM || beside() == Beside.LARGE_STREAM;
    }

    Beside beside() {
        return switch (this) {
            case OBSERVED -> Beside.READERS;
            case MIXED -> Beside.STREAM;
            case MIXED_LARGE -> Beside.LARGE_STREAM;
            default -> Beside.NOTHING;
        };
    }

    private OptionalLong local(FaultPlan plan) {
        return evicts() ? OptionalLong.of(plan.given().pages * percent() / WHOLE) : OptionalLong.empty();
    }

    /** The space of the agent that is looked at. */
    FaultSpace space() {
        return switch (this) {
            case ENCRYPTED, ENCRYPTED_LOCAL_25 -> FaultSpace.ENCRYPTED;
            case MIRRORED, MIRRORED_LOCAL_25 -> FaultSpace.MIRRORED;
            case COHERENT, COHERENT_LOCAL_25 -> FaultSpace.COHERENT;
            default -> FaultSpace.PLAIN;
        };
    }

    /** The agent that it is compared with, unless that is C. */
    Side reference(FaultPlan plan) {
        switch (space()) {
            case ENCRYPTED -> {
                return new Side("farpage-plain", 1, local(plan), FaultSpace.PLAIN, Beside.NOTHING);
            }
            case MIRRORED -> {
                return new Side("farpage-one-home", 1, local(plan), FaultSpace.PLAIN, Beside.NOTHING);
            }
            case COHERENT -> {
                return new Side("farpage-exclusive", 1, local(plan), FaultSpace.PLAIN, Beside.NOTHING);
            }
            case PLAIN, STREAM, LARGE_STREAM -> {}
        }
        String label = switch (this) {
            case OBSERVED -> "farpage-unobserved";
            case MIXED, MIXED_LARGE -> "farpage-alone";
            case SEQUENTIAL_PREFETCH, RANDOM_PREFETCH -> "farpage-prefetch-off";
            default -> "farpage-no-limit";
        };
        return new Side(label, 1, OptionalLong.empty(), FaultSpace.PLAIN, Beside.NOTHING);
    }

    private int percent() {
        return switch (this) {
            case LOCAL_100 -> WHOLE;
            case LOCAL_50 -> 50;
            case LOCAL_25, ENCRYPTED_LOCAL_25, MIRRORED_LOCAL_25, COHERENT_LOCAL_25 -> 25;
            case ENCRYPTED,
                    MIRRORED,
                    COHERENT,
                    OBSERVED,
                    MIXED,
                    MIXED_LARGE,
                    RANDOM,
                    THREADS,
                    SEQUENTIAL_PREFETCH,
                    RANDOM_PREFETCH -> 0;
        };
    }
}
