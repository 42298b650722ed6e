package io.farpage.agent.data.coherence;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * How long a member keeps a page that it was granted before it gives the page up again. No time as long as pages stay
 * for a while: a page that is taken away soon after it was granted, several times in succession, is kept longer each
 * time, so that the thread that waits for it makes progress (Mirage's time window). Remembers the latest pages alone.
 */
final class HoldTimes {
    static final long FIRST_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    /** A page that is taken away within this time was granted in vain, or nearly so. */
    static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** So often a page is taken away soon before it is kept longer. */
    static final int TOLERATED = 3;

    private static final int SLOTS = 1024;
    private static final int NONE = -1;

    private final int[] pages = new int[SLOTS];
    private final long[] grantedAt = new long[SLOTS];
    private final int[] losses = new int[SLOTS];
    private final long[] holds = new long[SLOTS];
    /** Whether the page was requested since it was granted. */
    private final boolean[] requested = new boolean[SLOTS];

    HoldTimes() {
        Arrays.fill(pages, NONE);
    }

    /** A page was granted, and is installed. */
    void granted(int page, long now) {
        int slot = page % SLOTS;
        if (pages[slot] != page) {
            pages[slot] = page;
            losses[slot] = 0;
            holds[slot] = 0;
        }
        grantedAt[slot] = now;
        requested[slot] = false;
    }

    /** Whether a page was granted a moment ago, so that the thread that has waited for it may not have run yet. */
    boolean isFresh(int page, long now) {
        int slot = page % SLOTS;
        return pages[slot] == page && now - grantedAt[slot] < FIRST_NANOS;
    }

    /** The home wants a page. Returns when the member gives it up. */
    long requested(int page, long now) {
        int slot = page % SLOTS;
        if (pages[slot] != page) {
            return now;
        }
        if (requested[slot]) {
            return grantedAt[slot] + holds[slot];
        }
        requested[slot] = true;
        if (now - grantedAt[slot] >= Math.max(SOON_NANOS, 2 * holds[slot])) {
            losses[slot] = 0;
            holds[slot] /= 2;
            if (holds[slot] < FIRST_NANOS) {
                holds[slot] = 0;
            }
        } else if (++losses[slot] >= TOLERATED) {
            losses[slot] = 0;
            holds[slot] = Math.min(LONGEST_NANOS, Math.max(FIRST_NANOS, 2 * holds[slot]));
        }
        return grantedAt[slot] + holds[slot];
    }
}
