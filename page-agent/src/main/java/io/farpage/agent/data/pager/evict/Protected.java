package io.farpage.agent.data.pager.evict;

/**
 * Runs of pages that are write-protected and wait for an inspection of pins before they are copied, oldest first. Their
 * pages have the flag {@code PageTable.WRITING}, so that none is added twice. One thread.
 */
final class Protected {
    private static final int CAPACITY = 256;

    private final int[] firsts = new int[CAPACITY];
    private final int[] counts = new int[CAPACITY];
    private final long[] inspections = new long[CAPACITY];
    private int head;
    private int size;
    /** Runs at the end for which no inspection was requested yet. */
    private int fresh;

    boolean isEmpty() {
        return size == 0;
    }

    boolean isFull() {
        return size == CAPACITY;
    }

    /** Whether there are runs that were added since {@link #await}. */
    boolean hasFresh() {
        return fresh > 0;
    }

    /** Adds a run that has just been protected. */
    void add(int first, int count) {
        int at = (head + size) % CAPACITY;
        firsts[at] = first;
        counts[at] = count;
        size++;
        fresh++;
    }

    /** All runs that were added since the last call wait for an inspection that begins after they were protected. */
    void await(long inspection) {
        for (; fresh > 0; fresh--) {
            inspections[(head + size - fresh) % CAPACITY] = inspection;
        }
    }

    /** The first page of the oldest run. */
    int first() {
        return firsts[head];
    }

    /** Pages that are left of the oldest run. */
    int count() {
        return counts[head];
    }

    /** The inspection that the oldest run waits for. */
    long inspection() {
        return inspections[head];
    }

    /** Removes pages from the front of the oldest run. */
    void removeFirst(int pages) {
        firsts[head] += pages;
        counts[head] -= pages;
        if (counts[head] == 0) {
            head = (head + 1) % CAPACITY;
            size--;
            fresh = Math.min(fresh, size);
        }
    }
}
