package io.farpage.agent.data.coherence;

import java.util.Arrays;

/** Pages that a member gives up at some time, in the order in which they were added. */
final class Deferred {
    private int[] pages = new int[64];
    private long[] dues = new long[64];
    private int head;
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    int size() {
        return count;
    }

    /** @param due when, in nanoseconds */
    void add(int page, long due) {
        if (count == pages.length) {
            grow();
        }
        int tail = (head + count) & (pages.length - 1);
        pages[tail] = page;
        dues[tail] = due;
        count++;
    }

    private void grow() {
        int[] morePages = Arrays.copyOf(pages, 2 * count);
        long[] moreDues = Arrays.copyOf(dues, 2 * count);
        for (int i = 0; i < count; i++) {
            int from = (head + i) & (count - 1);
            morePages[i] = pages[from];
            moreDues[i] = dues[from];
        }
        pages = morePages;
        dues = moreDues;
        head = 0;
    }

    int page() {
        return pages[head];
    }

    long due() {
        return dues[head];
    }

    void remove() {
        head = (head + 1) & (pages.length - 1);
        count--;
    }

    void clear() {
        count = 0;
    }
}
