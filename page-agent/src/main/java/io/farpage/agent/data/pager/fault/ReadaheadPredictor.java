package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.shard.Counter;
import java.util.Arrays;

/**
 * Predicts which pages the guest touches after a fault. Prefetched pages do not fault, so a sequential stream is
 * recognised by a fault on the page right after the last window; the next window is then twice as large. Several
 * streams run side by side, one for each thread of a guest. Strides other than 1 are found as in Leap (Al Maruf and
 * Chowdhury, ATC 2020): by majority vote over the latest differences between faults. A fault that fits neither fetches
 * one page, so random access costs nothing more.
 */
public final class ReadaheadPredictor {
    private static final int STREAMS = 16;
    private static final int FIRST_WINDOW = 4;
    private static final int DELTAS = 8;
    private static final int MAX_STRIDES = 8;
    private static final int NONE = -1;

    private final int maxWindow;
    private final int[] next = new int[STREAMS];
    private final int[] window = new int[STREAMS];
    /** Pages of the latest window that were fetched, the one that faulted included. */
    private final int[] had = new int[STREAMS];

    private final long[] usedAt = new long[STREAMS];
    private long faults;

    private final int[] deltas = new int[DELTAS];
    private int deltaAt;
    private int last = NONE;
    private int stride;
    private int strides;

    private final Counter hits = new Counter();
    private final Counter wasted = new Counter();

    // The latest fault, and the state before it, for undo().
    private int lastStream;
    private int started;
    private boolean lastVoted;
    private int nextBefore;
    private int windowBefore;
    private int hadBefore;
    private long usedBefore;
    private int deltaBefore;
    private int deltaAtBefore;
    private int lastBefore;
    private int strideBefore;

    /** @param maxWindow largest window in pages; 1 turns prediction off */
    public ReadaheadPredictor(int maxWindow) {
        this.maxWindow = maxWindow;
        Arrays.fill(next, NONE);
    }

    /**
     * Records a fault.
     *
     * @return how many pages to fetch from {@code page} on, 1 or more
     */
    public int fault(int page) {
        strides = 0;
        if (maxWindow == 1) {
            return 1;
        }
        faults++;
        for (int i = 0; i < STREAMS; i++) {
            if (next[i] == page) {
                remember(i, false);
                hits.add(had[i] - 1L);
                window[i] = Math.min(maxWindow, Math.max(FIRST_WINDOW, 2 * window[i]));
                return follow(i, page);
            }
        }
        int oldest = 0;
        for (int i = 1; i < STREAMS; i++) {
            if (usedAt[i] < usedAt[oldest]) {
                oldest = i;
            }
        }
        remember(oldest, true);
        vote(page);
        wasted.add(Math.max(0, had[oldest] - 1L));
        window[oldest] = 1;
        return follow(oldest, page);
    }

    private int follow(int stream, int page) {
        started = page;
        next[stream] = page + window[stream];
        had[stream] = window[stream];
        usedAt[stream] = faults;
        return window[stream];
    }

    private void remember(int stream, boolean voted) {
        lastStream = stream;
        lastVoted = voted;
        nextBefore = next[stream];
        windowBefore = window[stream];
        hadBefore = had[stream];
        usedBefore = usedAt[stream];
        deltaBefore = deltas[deltaAt];
        deltaAtBefore = deltaAt;
        lastBefore = last;
        strideBefore = stride;
    }

    /**
     * Only a part of the predicted window exists or is in the same state. The stream continues behind it, with a
     * smaller window.
     *
     * @param covered pages from the one that faulted
     * @param fetched how many of these were not resident
     */
    public void truncated(int covered, int fetched) {
        if (maxWindow > 1) {
            covered(covered, fetched);
            window[lastStream] = covered;
        }
    }

    /**
     * The limit allowed only a part of the predicted window. The stream continues behind it with the same window; see
     * {@link #truncated}.
     */
    void throttled(int covered, int fetched) {
        if (maxWindow > 1) {
            covered(covered, fetched);
            window[lastStream] = Math.max(windowBefore, covered);
        }
    }

    /** The predicted window ends in resident pages. The stream continues behind them; see {@link #truncated}. */
    void covered(int covered, int fetched) {
        next[lastStream] = started + covered;
        had[lastStream] = fetched;
    }

    /** Nothing could be fetched. Forgets the latest fault, which is recorded again when it is retried. */
    void undo() {
        if (maxWindow == 1) {
            return;
        }
        if (lastVoted) {
            wasted.add(-Math.max(0, hadBefore - 1L));
            deltaAt = deltaAtBefore;
            deltas[deltaAt] = deltaBefore;
            last = lastBefore;
            stride = strideBefore;
        } else {
            hits.add(1L - hadBefore);
        }
        strides = 0;
        next[lastStream] = nextBefore;
        window[lastStream] = windowBefore;
        had[lastStream] = hadBefore;
        usedAt[lastStream] = usedBefore;
    }

    /** Distance in pages between the pages that {@link #strides()} counts. */
    int stride() {
        return stride;
    }

    /** How many single pages to fetch ahead of the one that faulted last, {@link #stride()} pages apart; 0 or more. */
    int strides() {
        return strides;
    }

    private void vote(int page) {
        int delta = page - last;
        if (last != NONE) {
            deltas[deltaAt] = delta;
            deltaAt = (deltaAt + 1) % DELTAS;
        }
        last = page;
        int candidate = majority();
        if (candidate == 0 || candidate == 1) {
            stride = 0;
            return;
        }
        // One page ahead until the guest has repeated the stride.
        strides = candidate == stride && delta == stride ? Math.min(MAX_STRIDES, maxWindow) : 1;
        stride = candidate;
        last = page + strides * stride;
    }

    /** The majority of the latest differences (Boyer and Moore), or 0 if there is none. */
    private int majority() {
        int candidate = 0;
        int votes = 0;
        for (int delta : deltas) {
            if (votes == 0) {
                candidate = delta;
            }
            votes += delta == candidate ? 1 : -1;
        }
        int agree = 0;
        for (int delta : deltas) {
            agree += delta == candidate ? 1 : 0;
        }
        return agree > DELTAS / 2 ? candidate : 0;
    }

    /** Prefetched pages of windows that were continued. Any thread. */
    public Counter hits() {
        return hits;
    }

    /** Prefetched pages of streams that ended. Any thread. */
    public Counter wasted() {
        return wasted;
    }
}
