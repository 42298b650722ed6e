package io.farpage.verbs.ibverbs;

/**
 * The work requests outstanding on one queue, oldest first, with the caller's ids. Each has a sequence number that is
 * never used twice while the device is open, so the number alone identifies a completion from before a reset of its
 * queue pair.
 *
 * <p>The completion of a work request completes all before it, as verbs promise for unsignaled ones.
 */
final class WrRing {
    private final long[] wrIds;
    private final int mask;
    private final int capacity;
    private long next;
    private long completed;

    /** @param first first sequence number */
    WrRing(int capacity, long first) {
        this.capacity = capacity;
        int size = Math.max(1, Integer.highestOneBit(Math.max(1, capacity - 1)) << 1);
        this.wrIds = new long[size];
        this.mask = size - 1;
        this.next = first;
        this.completed = first;
    }

    int capacity() {
        return capacity;
    }

    /** How many more fit. */
    int space() {
        return capacity - (int) (next - completed);
    }

    /** Takes the next place, which must be free; its sequence number. */
    long add(long wrId) {
        wrIds[(int) (next & mask)] = wrId;
        return next++;
    }

    /** Discards the {@code count} work requests that were added last. */
    void discard(int count) {
        next -= count;
    }

    /** Whether a work request with this number is outstanding. */
    boolean isOutstanding(long sequence) {
        return sequence >= completed && sequence < next;
    }

    /** Completes an outstanding work request and all before it; its caller's id. */
    long complete(long sequence) {
        completed = sequence + 1;
        return wrIds[(int) (sequence & mask)];
    }

    /** Discards everything outstanding. */
    void clear() {
        completed = next;
    }

    /** A number above all that this ring ever gave out. */
    long end() {
        return next;
    }
}
