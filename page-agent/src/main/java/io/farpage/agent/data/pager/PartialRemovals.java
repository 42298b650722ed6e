package io.farpage.agent.data.pager;

import java.util.concurrent.TimeUnit;

/**
 * Large pages of which the guest gave up a part a short time ago. The kernel fills that part with zeros at some moment after the agent has
 * read the message, and does so past the write protection; if the page is not in the memory file at that moment, the page stays as it is.
 * Nothing tells when it has happened. So for a time such a page counts as written to and is not evicted: otherwise the guest could read
 * the zeros, and later the bytes from before the removal.
 *
 * <p>Keeps the latest few pages. One thread.
 */
final class PartialRemovals {
    /** Half of the lowest limit, so that something can always be evicted. */
    static final int CAPACITY = PagerOptions.MIN_LOCAL_PAGES / 2;

    /** Time that the kernel has, at most, to carry out what a call of madvise(2) gives up, once the message was read. */
    static final long REMOVAL_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final int[] pages = new int[CAPACITY];
    private final long[] since = new long[CAPACITY];
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    boolean has(int page) {
        return index(page) >= 0;
    }

    private int index(int page) {
        for (int i = 0; i < count; i++) {
            if (pages[i] == page) {
                return i;
            }
        }
        return -1;
    }

    /** Adds a page, or has its time begin anew. If the table is full, the oldest page is dropped. */
    void add(int page, long nowNanos) {
        int known = index(page);
        if (known >= 0) {
            remove(known);
        } else if (count == CAPACITY) {
            remove(0);
        }
        pages[count] = page;
        since[count] = nowNanos;
        count++;
    }

    /** Forgets pages whose time is over. */
    void expire(long nowNanos) {
        while (count > 0 && nowNanos - since[0] > REMOVAL_NANOS) {
            remove(0);
        }
    }

    private void remove(int index) {
        count--;
        System.arraycopy(pages, index + 1, pages, index, count - index);
        System.arraycopy(since, index + 1, since, index, count - index);
    }
}
