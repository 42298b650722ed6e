package io.farpage.agent.data.pager.memory;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Faults that wait for the limit or for a free slot, first in first out. Grows with the number of threads that wait at
 * once: a fault that was read from the kernel must not be dropped, and an unread one delays all messages behind it.
 */
public final class FaultQueue {
    private int[] pages = new int[64];
    private boolean[] writes = new boolean[64];
    private long[] seenAt = new long[64];
    private int head;
    private int count;

    public boolean isEmpty() {
        return count == 0;
    }

    public int size() {
        return count;
    }

    public void add(int page, boolean write, long seenNanos) {
        if (count == pages.length) {
            grow();
        }
        int tail = (head + count) & (pages.length - 1);
        pages[tail] = page;
        writes[tail] = write;
        seenAt[tail] = seenNanos;
        count++;
    }

    public int page() {
        return pages[head];
    }

    public boolean isWrite() {
        return writes[head];
    }

    public long seenAt() {
        return seenAt[head];
    }

    public void remove() {
        head = (head + 1) & (pages.length - 1);
        count--;
    }

    /**
     * Removes the faults of {@code length} pages from {@code first} on; the others keep their order.
     *
     * @param removed receives the page of each
     * @return how many there were
     */
    int removeRange(int first, int length, IntConsumer removed) {
        int before = count;
        for (int left = before; left > 0; left--) {
            int page = page();
            boolean write = isWrite();
            long seen = seenAt();
            remove();
            if (page >= first && page - first < length) {
                removed.accept(page);
            } else {
                add(page, write, seen);
            }
        }
        return before - count;
    }

    private void grow() {
        int length = pages.length;
        int[] oldPages = pages;
        boolean[] oldWrites = writes;
        long[] oldSeenAt = seenAt;
        pages = Arrays.copyOf(oldPages, 2 * length);
        writes = Arrays.copyOf(oldWrites, 2 * length);
        seenAt = Arrays.copyOf(oldSeenAt, 2 * length);
        for (int i = 0; i < length; i++) {
            int from = (head + i) & (length - 1);
            pages[i] = oldPages[from];
            writes[i] = oldWrites[from];
            seenAt[i] = oldSeenAt[from];
        }
        head = 0;
    }
}
