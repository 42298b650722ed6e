package io.farpage.bench.evict;

import java.util.Arrays;
import java.util.TreeSet;

/** Counts the misses of known replacement policies over a sequence of pages, from an empty memory on. */
final class Orders {
    private static final int NONE = -1;

    private Orders() {}

    /**
     * Misses of least recently used.
     *
     * @param trace page numbers below {@code pages}
     * @param frames of the memory
     * @param from the first touch that counts
     */
    static long leastRecentlyUsed(int[] trace, int pages, int frames, int from) {
        int[] older = new int[pages];
        int[] newer = new int[pages];
        boolean[] isResident = new boolean[pages];
        int oldest = NONE;
        int newest = NONE;
        int resident = 0;
        long misses = 0;
        for (int at = 0; at < trace.length; at++) {
            int page = trace[at];
            if (page == newest) {
                continue;
            }
            if (isResident[page]) {
                int before = older[page];
                int behind = newer[page];
                if (before == NONE) {
                    oldest = behind;
                } else {
                    newer[before] = behind;
                }
                older[behind] = before;
            } else {
                misses += at >= from ? 1 : 0;
                isResident[page] = true;
                if (resident == frames) {
                    isResident[oldest] = false;
                    oldest = newer[oldest];
                    older[oldest] = NONE;
                } else {
                    resident++;
                }
            }
            older[page] = newest;
            if (newest == NONE) {
                oldest = page;
            } else {
                newer[newest] = page;
            }
            newest = page;
        }
        return misses;
    }

    /**
     * The fewest misses that are possible: the page goes that is touched last from then on (L. Belady, <i>A study of
     * replacement algorithms for a virtual-storage computer</i>, 1966).
     */
    static long belady(int[] trace, int pages, int frames, int from) {
        int[] next = nextTouches(trace, pages);
        TreeSet<Long> byNext = new TreeSet<>();
        long[] keys = new long[pages];
        Arrays.fill(keys, NONE);
        long misses = 0;
        for (int at = 0; at < trace.length; at++) {
            int page = trace[at];
            if (keys[page] == NONE) {
                misses += at >= from ? 1 : 0;
                if (byNext.size() == frames) {
                    keys[byNext.pollLast().intValue()] = NONE;
                }
            } else {
                byNext.remove(keys[page]);
            }
            keys[page] = (long) next[at] << Integer.SIZE | page;
            byNext.add(keys[page]);
        }
        return misses;
    }

    /** For each touch when its page is touched again; the length of the trace if it is not. */
    private static int[] nextTouches(int[] trace, int pages) {
        int[] next = new int[trace.length];
        int[] seen = new int[pages];
        Arrays.fill(seen, trace.length);
        for (int at = trace.length - 1; at >= 0; at--) {
            next[at] = seen[trace[at]];
            seen[trace[at]] = at;
        }
        return next;
    }
}
