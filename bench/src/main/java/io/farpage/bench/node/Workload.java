package io.farpage.bench.node;

import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.pattern.PageNumbers;

/**
 * One thing for a {@link FetchWorkload} to do.
 *
 * @param isWrite whether pages are filled and written home rather than fetched and checked
 * @param numbers which pages
 * @param window transfers under way at once
 * @param count how many, or {@link Long#MAX_VALUE} to go by time
 * @param nanos for how long to start new ones, if not by count
 * @param verification of fetched pages
 */
record Workload(boolean isWrite, PageNumbers numbers, int window, long count, long nanos, Verification verification) {
    static Workload fetch(PageNumbers numbers, int window, long count, Verification verification) {
        return new Workload(false, numbers, window, count, Long.MAX_VALUE, verification);
    }

    static Workload fetchFor(PageNumbers numbers, int window, long nanos, Verification verification) {
        return new Workload(false, numbers, window, Long.MAX_VALUE, nanos, verification);
    }

    static Workload write(PageNumbers numbers, int window, long count) {
        return new Workload(true, numbers, window, count, Long.MAX_VALUE, Verification.NONE);
    }
}
