package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.memory.Pins;

/**
 * Pages below the limit that are kept free for faults that come while an inspection of {@link Pins pins} is stalled.
 * The inspection waits until a call of the VMM unlocks an io_uring; that call may wait for a fault; the fault, if no
 * page is free, for eviction; and eviction for the inspection. Faults that take from the reserve break this circle, and
 * the limit holds. A VMM without an io_uring has no reserve. One thread.
 */
final class PinReserve {
    private static final long MAX_BYTES = 4 << 20;
    private static final int SHARE = 16;
    /** Pages that one fault may take from the reserve, which is for faults and hardly for prefetching. */
    private static final int RUN = 8;

    private final Pins pins;
    private final int pages;
    private final int most;

    /**
     * @param pages of the guest
     * @param pageBytes bytes of a page
     */
    PinReserve(Pins pins, int pages, int pageBytes) {
        this.pins = pins;
        this.pages = pages;
        most = (int) Math.max(1, MAX_BYTES / pageBytes);
    }

    /** How many pages may be resident without the reserve. */
    int below(int limit) {
        return limit < pages && pins.mayStall() ? limit - Math.min(limit / SHARE, most) : limit;
    }

    /**
     * How many pages may become resident now, with {@code resident} pages resident or being fetched; 0 or less if none
     * may.
     */
    long free(int limit, long resident) {
        long free = below(limit) - resident;
        return free > 0 || !pins.isStalled() ? free : Math.min(RUN, limit - resident);
    }
}
