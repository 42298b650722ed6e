package io.farpage.bench.coherent;

import java.util.Locale;
import java.util.OptionalLong;

/** The spaces of a run. */
enum Memory {
    /** Several members; the pages of each kind of fault are apart. */
    SHARED(true, Region.values().length, false),
    /** Each round has a guest of its own, which begins without resident pages. */
    EXCLUSIVE(false, 1, false),
    /** One member, which may have a quarter of the pages. */
    PRIVATE(true, 1, true),
    /** The same of an exclusive space. */
    PRIVATE_EXCLUSIVE(false, 1, true),
    /** What is added, by one member or by two. Each may have a quarter of the pages. */
    SUM(true, CoherentPlan.BEYOND_LOCAL, true);

    /** A part of {@link #SHARED} for one kind of fault. */
    enum Region {
        CLEAN,
        DIRTY,
        ONE_SHARER,
        THREE_SHARERS
    }

    private final boolean coherent;
    private final int parts;
    private final boolean limited;

    Memory(boolean coherent, int parts, boolean limited) {
        this.coherent = coherent;
        this.parts = parts;
        this.limited = limited;
    }

    String space() {
        return "bench-" + name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    boolean isCoherent() {
        return coherent;
    }

    int pages(CoherentPlan plan) {
        return parts * plan.given().count;
    }

    long bytes(CoherentPlan plan) {
        return (long) pages(plan) * CoherentPlan.PAGE_BYTES;
    }

    /** Bytes that may be resident at a member. */
    OptionalLong local(CoherentPlan plan) {
        return limited
                ? OptionalLong.of((long) (pages(plan) / CoherentPlan.BEYOND_LOCAL) * CoherentPlan.PAGE_BYTES)
                : OptionalLong.empty();
    }
}
