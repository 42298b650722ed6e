package io.farpage.verbs.soft;

import io.farpage.verbs.QueueFullException;
import java.util.concurrent.TimeUnit;

/**
 * Posted receives, oldest first: handed over from the thread that posts to the responders that fill them in. A slot is
 * free again when its completion has been polled, so completions never outnumber slots.
 */
final class ReceiveQueue {
    static final int NONE = -1;

    private final String owner;
    private final int capacity;
    private final int maxSge;
    private final long[] wrIds;
    private final int[] sgeCounts;
    private final long[] addresses;
    private final int[] lengths;
    private final int[] lkeys;

    private final int[] free;
    private int freeCount;
    private final int[] fifo;
    private long acquired;
    private long posted;
    private long prepared;

    ReceiveQueue(String owner, int capacity, int maxSge) {
        this.owner = owner;
        this.capacity = capacity;
        this.maxSge = maxSge;
        this.wrIds = new long[capacity];
        this.sgeCounts = new int[capacity];
        this.addresses = new long[capacity * maxSge];
        this.lengths = new int[capacity * maxSge];
        this.lkeys = new int[capacity * maxSge];
        this.free = new int[capacity];
        this.fifo = new int[capacity];
        for (int i = 0; i < capacity; i++) {
            free[i] = capacity - 1 - i;
        }
        this.freeCount = capacity;
    }

    int capacity() {
        return capacity;
    }

    /** The queue pair or the shared receive queue that has it. */
    String owner() {
        return owner;
    }

    synchronized void prepare(long wrId, long address, int length, int lkey, String sizeOption) {
        SendQueue.requireLength(length);
        if (freeCount == 0) {
            throw new QueueFullException(owner, sizeOption, capacity);
        }
        int slot = free[--freeCount];
        wrIds[slot] = wrId;
        sgeCounts[slot] = 0;
        addSge(slot, address, length, lkey);
        fifo[(int) (prepared++ % capacity)] = slot;
    }

    synchronized void append(long address, int length, int lkey) {
        SendQueue.requireLength(length);
        if (prepared == posted) {
            throw new IllegalStateException("no receive is prepared on " + owner);
        }
        int slot = fifo[(int) ((prepared - 1) % capacity)];
        if (sgeCounts[slot] == maxSge) {
            throw new IllegalStateException("receive has max_sge " + maxSge + " entries already");
        }
        addSge(slot, address, length, lkey);
    }

    private void addSge(int slot, long address, int length, int lkey) {
        int at = slot * maxSge + sgeCounts[slot]++;
        addresses[at] = address;
        lengths[at] = length;
        lkeys[at] = lkey;
    }

    synchronized void post() {
        posted = prepared;
        notifyAll();
    }

    /** Discards what is prepared and not posted. */
    synchronized void unprepare() {
        while (prepared > posted) {
            free[freeCount++] = fifo[(int) (--prepared % capacity)];
        }
    }

    /** The oldest posted receive, which the caller owns from now on; or {@link #NONE}. */
    synchronized int acquire() {
        return acquired == posted ? NONE : fifo[(int) (acquired++ % capacity)];
    }

    /** Puts an acquired receive that was not used back in front. */
    synchronized void restore(int slot) {
        fifo[(int) (--acquired % capacity)] = slot;
    }

    /** Waits until a receive is posted, {@link #wakeWaiters} is called, or the timeout is over. */
    synchronized void awaitPosted(long nanos) throws InterruptedException {
        if (acquired == posted) {
            TimeUnit.NANOSECONDS.timedWait(this, nanos);
        }
    }

    synchronized void wakeWaiters() {
        notifyAll();
    }

    synchronized void release(int slot) {
        free[freeCount++] = slot;
    }

    /** Discards everything prepared or posted. Completions that are still to be polled keep their slots. */
    synchronized void clear() {
        unprepare();
        while (acquired < posted) {
            free[freeCount++] = fifo[(int) (acquired++ % capacity)];
        }
    }

    synchronized boolean isEmpty() {
        return acquired == posted;
    }

    // What follows reads a slot that the caller owns.

    long wrId(int slot) {
        return wrIds[slot];
    }

    int sgeCount(int slot) {
        return sgeCounts[slot];
    }

    long sgeAddress(int slot, int sge) {
        return addresses[slot * maxSge + sge];
    }

    int sgeLength(int slot, int sge) {
        return lengths[slot * maxSge + sge];
    }

    int sgeLkey(int slot, int sge) {
        return lkeys[slot * maxSge + sge];
    }
}
