package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.page.GuestLayout;
import java.util.concurrent.TimeUnit;

/**
 * Whether a guest is parked: nearly all of its memory is at its homes, and its limit is a few pages, until it is
 * unparked or its own faults show that it runs again. What leaves while a guest is parked is marked as wanted, so that
 * {@link Replay} can bring it back.
 *
 * <p>The shard's thread, or the thread that makes the pager before it is started; {@link #isParked} any thread.
 */
public final class Parking {
    /** Pages that stay resident at least. A fault may need several: the guest's page tables are memory of the guest. */
    private static final int LEAST_PAGES = 64;

    /** The same of large pages. An instruction that needs more wakes the guest by its faults. */
    private static final int LEAST_LARGE_PAGES = 16;

    /** Faults a second that an idle guest may take for long, such as by timers whose pages do not stay. */
    private static final int IDLE_FAULTS = 640;

    private static final int IDLE_LARGE_FAULTS = 80;

    /** The time that one of them stands for. */
    private final long faultNanos;

    private volatile int pages;
    private boolean hasFaulted;
    /** When all faults would have been taken at the rate of an idle guest. */
    private long takenAt;

    private boolean hasEnded;

    /** @param pageBytes of the guest's pages */
    Parking(int pageBytes) {
        int perSecond = pageBytes == GuestLayout.BASE_PAGE ? IDLE_FAULTS : IDLE_LARGE_FAULTS;
        faultNanos = TimeUnit.SECONDS.toNanos(1) / perSecond;
    }

    /** The fewest pages that a parked guest may have resident. */
    public static int leastPages(int pageBytes) {
        return pageBytes == GuestLayout.BASE_PAGE ? LEAST_PAGES : LEAST_LARGE_PAGES;
    }

    /** Parks the guest, or changes how many of its pages stay. */
    public void park(int keepPages) {
        pages = keepPages;
        hasFaulted = false;
        hasEnded = false;
    }

    /** Ends parking, if the guest is parked. */
    public void unpark() {
        hasEnded |= isParked();
        pages = 0;
    }

    /** Whether it is parked. Any thread. */
    public boolean isParked() {
        return pages != 0;
    }

    /**
     * The pages that may be resident.
     *
     * @param limit of the guest when it is not parked
     * @param stuck resident pages that cannot be evicted for a time
     */
    int frames(int limit, int stuck) {
        int parked = pages;
        return parked == 0 ? limit : (int) Math.min(limit, (long) parked + stuck);
    }

    /**
     * A fault has taken a frame. An idle kernel touches the pages of its timers, which come back after the guest is
     * parked and fit into what stays. A guest that takes more pages than that at once, or goes on faster than an idle
     * one, runs: that ends parking.
     */
    void onFault(long nowNanos) {
        if (pages == 0) {
            return;
        }
        takenAt = (hasFaulted ? Math.max(takenAt, nowNanos) : nowNanos) + faultNanos;
        hasFaulted = true;
        if (takenAt - nowNanos > pages * faultNanos) {
            unpark();
        }
    }

    /** Takes the notice that parking has ended, once. */
    public boolean takeEnd() {
        boolean ended = hasEnded;
        hasEnded = false;
        return ended;
    }
}
