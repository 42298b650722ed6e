package io.farpage.agent.data.pager.page;

import java.time.Duration;

/**
 * How a guest's memory is paged.
 *
 * @param localPages pages that may be resident, at least {@link #MIN_LOCAL_PAGES}; {@link Integer#MAX_VALUE} for no
 *     limit
 * @param prefetchPages pages that one fault fetches at most, 1 to {@link #MAX_RUN}; 1 turns prefetching off
 * @param cyclePages removed pages that a duty cycle handles at most, so that other guests are served
 * @param flushDeadline how long, once its VMM has ended, no page may reach a home before the rest is given up
 */
public record PagerOptions(int localPages, int prefetchPages, int cyclePages, Duration flushDeadline) {
    /** The default of {@code guest.flush_deadline}. */
    public static final Duration FLUSH_DEADLINE = Duration.ofMinutes(10);

    /** The most pages that are fetched or installed at once. */
    public static final int MAX_RUN = 64;

    /** The most pages that are written back at once. */
    public static final int MAX_WRITE_RUN = 32;

    /** The lowest limit: with fewer resident pages, one instruction may touch more pages than stay resident. */
    public static final int MIN_LOCAL_PAGES = 64;

    /** Pages that a duty cycle handles in a fraction of a millisecond. */
    public static final int CYCLE_PAGES = 512;

    /** With {@link #CYCLE_PAGES} and {@link #FLUSH_DEADLINE}. */
    public PagerOptions(int localPages, int prefetchPages) {
        this(localPages, prefetchPages, CYCLE_PAGES, FLUSH_DEADLINE);
    }

    /** Checks the ranges. */
    public PagerOptions {
        if (localPages < MIN_LOCAL_PAGES) {
            throw new IllegalArgumentException("a limit of " + localPages + " resident pages is too low; the least is "
                    + MIN_LOCAL_PAGES + " pages");
        }
        if (prefetchPages < 1 || prefetchPages > MAX_RUN) {
            throw new IllegalArgumentException("prefetching " + prefetchPages + " pages is not within 1.." + MAX_RUN);
        }
        if (cyclePages < 1) {
            throw new IllegalArgumentException(
                    "a duty cycle of " + cyclePages + " removed pages makes no progress; the least is 1");
        }
    }
}
