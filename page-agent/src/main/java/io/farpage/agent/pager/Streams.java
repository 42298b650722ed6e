package io.farpage.agent.pager;

import io.farpage.agent.shard.Counter;
import java.util.Arrays;

/**
 * Foresees which pages follow the one that faulted. Pages that were prefetched do not fault, so a stream shows by a fault on the very
 * page after the last window: then the window was of use, and the next one is twice as large. Several streams run side by side, as the
 * threads of a guest do. Strides other than 1 are found as Leap does (Al Maruf and Chowdhury, ATC 2020): by majority vote over the
 * latest differences between faults. Whatever is neither gets its page alone, so that random access pays nothing for this.
 */
final class Streams {
    private static final int STREAMS = 16;
    private static final int FIRST_WINDOW = 4;
    private static final int DELTAS = 8;
    private static final int MAX_STRIDES = 8;
    private static final int NONE = -1;

    private final int maxWindow;
    private final int[] next = new int[STREAMS];
    private final int[] window = new int[STREAMS];
    /** Pages of the latest window that were to be had, the one that faulted included. */
    private final int[] had = new int[STREAMS];

    private final long[] usedAt = new long[STREAMS];
    private long turn;

    private final int[] deltas = new int[DELTAS];
    private int deltaAt;
    private int last = NONE;
    private int stride;
    private int strides;

    private final Counter hits = new Counter();
    private final Counter wasted = new Counter();

    // What the latest fault was, and what it changed, as it was before.
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

    /** @param maxWindow pages that are fetched as one at most, 1 to turn this off */
    Streams(int maxWindow) {
        this.maxWindow = maxWindow;
        Arrays.fill(next, NONE);
    }

    /**
     * Tells of a fault.
     *
     * @return how many pages to fetch from {@code page} on, 1 or more
     */
    int fault(int page) {
        strides = 0;
        if (maxWindow == 1) {
            return 1;
        }
        turn++;
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
        usedAt[stream] = turn;
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
     * Of what the latest fault foresaw only some pages are to be had: the stream goes on behind them, with a smaller window.
     *
     * @param spanned pages from the fault's on
     * @param brought how many of these were not here already
     */
    void cut(int spanned, int brought) {
        if (maxWindow > 1) {
            span(spanned, brought);
            window[lastStream] = spanned;
        }
    }

    /** Of what the latest fault foresaw there was room for some pages only: the stream goes on behind them, as before; see {@link #cut}. */
    void crowd(int spanned, int brought) {
        if (maxWindow > 1) {
            span(spanned, brought);
            window[lastStream] = Math.max(windowBefore, spanned);
        }
    }

    /** What the latest fault foresaw reaches over pages that are here already, and the stream goes on behind these; see {@link #cut}. */
    void span(int spanned, int brought) {
        next[lastStream] = started + spanned;
        had[lastStream] = brought;
    }

    /** There was no room for anything at all: the latest fault will be told of again, as if for the first time. */
    void takeBack() {
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

    /** How far apart the pages are that {@link #strides()} counts. */
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
        // One ahead until the guest has shown that it goes on that way.
        strides = candidate == stride && delta == stride ? Math.min(MAX_STRIDES, maxWindow) : 1;
        stride = candidate;
        last = page + strides * stride;
    }

    /** What more than half of the deltas are (Boyer and Moore), or 0. */
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

    /** Prefetched pages behind which the guest went on. Any thread. */
    Counter hits() {
        return hits;
    }

    /** Prefetched pages of streams that ended. Any thread. */
    Counter wasted() {
        return wasted;
    }
}
