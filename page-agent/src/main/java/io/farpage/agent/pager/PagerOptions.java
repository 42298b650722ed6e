package io.farpage.agent.pager;

/**
 * How a guest's memory is paged.
 *
 * @param localPages pages that may be resident, at least {@link #MIN_LOCAL_PAGES}; {@link Integer#MAX_VALUE} for no limit
 * @param prefetchPages pages that one fetch may bring at most, 1 to {@link #MAX_RUN}; 1 turns prefetching off
 */
public record PagerOptions(int localPages, int prefetchPages) {
    /** Pages that are fetched, installed or written back as one. */
    public static final int MAX_RUN = 64;

    /** Fewer than this many resident pages leave no room for what one instruction may touch while others are evicted. */
    public static final int MIN_LOCAL_PAGES = 64;

    /** Checks the ranges. */
    public PagerOptions {
        if (localPages < MIN_LOCAL_PAGES) {
            throw new IllegalArgumentException("a limit of " + localPages + " resident pages is too low; the least is "
                    + MIN_LOCAL_PAGES + " pages");
        }
        if (prefetchPages < 1 || prefetchPages > MAX_RUN) {
            throw new IllegalArgumentException("prefetching " + prefetchPages + " pages is not within 1.." + MAX_RUN);
        }
    }
}
