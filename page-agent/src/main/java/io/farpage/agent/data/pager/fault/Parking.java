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

    /** Faults within {@link #WAKE_NANOS} that wake a guest. A clock tick of an idle kernel takes fewer. */
    private static final int WAKE_FAULTS = 64;

    private static final int WAKE_LARGE_FAULTS = 8;

    private static final long WAKE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final int wakeFaults;
    private volatile int pages;
    private long beganAt;
    private int faults;
    private boolean hasEnded;

    /** @param pageBytes of the guest's pages */
    Parking(int pageBytes) {
        wakeFaults = pageBytes == GuestLayout.BASE_PAGE ? WAKE_FAULTS : WAKE_LARGE_FAULTS;
    }

    /** The fewest pages that a parked guest may have resident. */
    public static int leastPages(int pageBytes) {
        return pageBytes == GuestLayout.BASE_PAGE ? LEAST_PAGES : LEAST_LARGE_PAGES;
    }

    /** Parks the guest, or changes how many of its pages stay. */
    public void park(int keepPages) {
        pages = keepPages;
        faults = 0;
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

    /** The pages that may be resident, of {@code limit} that may be when the guest is not parked. */
    int frames(int limit) {
        int parked = pages;
        return parked == 0 ? limit : Math.min(limit, parked);
    }

    /** A fault has taken a frame. Enough of them in a short time end parking. */
    void onFault(long nowNanos) {
        if (pages == 0) {
            return;
        }
        if (faults == 0 || nowNanos - beganAt > WAKE_NANOS) {
            beganAt = nowNanos;
            faults = 0;
        }
        faults++;
        if (faults >= wakeFaults) {
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
