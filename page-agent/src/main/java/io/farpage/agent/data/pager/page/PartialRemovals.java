package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

/**
 * Large pages with a part that the guest gave up a short time ago. The kernel fills that part with zeros at some moment
 * after the agent has read the message, and does so past the write protection; if the page is not in the memory file at
 * that moment, the page stays as it is. Nothing tells when it has happened. So for a time such a page counts as written
 * to and is not evicted: otherwise the guest could read the zeros, and later the bytes from before the removal.
 *
 * <p>Keeps the latest few pages. They may be in memory that outlives this process: a process that is killed amid a
 * change leaves each page that stays at least once. For a successor their time begins anew. One thread.
 */
public final class PartialRemovals {
    /** Half of the lowest limit, so that something can always be evicted. */
    static final int CAPACITY = PagerOptions.MIN_LOCAL_PAGES / 2;

    /**
     * Time that the kernel has, at most, to carry out what a call of madvise(2) gives up, once the message was read.
     */
    public static final long REMOVAL_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** Bytes of memory for the pages. */
    static final int BYTES = CAPACITY * Integer.BYTES;

    /** For each page, its number plus 1; 0 in an empty entry. */
    private final MemorySegment pages;

    private final long[] since = new long[CAPACITY];
    private int count;

    /** None, which do not outlive this process. */
    PartialRemovals() {
        this(MemorySegment.ofArray(new int[CAPACITY]), 0);
    }

    /** @param pages of {@link #BYTES}: zeros, or the pages that an earlier process has left */
    PartialRemovals(MemorySegment pages, long nowNanos) {
        this.pages = pages;
        int[] left = pages.toArray(JAVA_INT);
        for (int page : left) {
            if (page != 0 && !has(page - 1)) {
                put(count, page - 1);
                since[count] = nowNanos;
                count++;
            }
        }
        for (int i = count; i < CAPACITY; i++) {
            put(i, -1);
        }
    }

    int size() {
        return count;
    }

    int page(int index) {
        return pages.getAtIndex(JAVA_INT, index) - 1;
    }

    private void put(int index, int page) {
        pages.setAtIndex(JAVA_INT, index, page + 1);
        VarHandle.storeStoreFence();
    }

    public boolean isEmpty() {
        return count == 0;
    }

    boolean has(int page) {
        return index(page) >= 0;
    }

    private int index(int page) {
        for (int i = 0; i < count; i++) {
            if (page(i) == page) {
                return i;
            }
        }
        return -1;
    }

    /** Adds a page, or restarts its time. If the table is full, the oldest page is dropped. */
    void add(int page, long nowNanos) {
        int known = index(page);
        if (known >= 0) {
            remove(known);
        } else if (count == CAPACITY) {
            remove(0);
        }
        put(count, page);
        since[count] = nowNanos;
        count++;
    }

    /** Forgets pages whose time is over. */
    public void expire(long nowNanos) {
        while (count > 0 && nowNanos - since[0] > REMOVAL_NANOS) {
            remove(0);
        }
    }

    /** Passes each page on. */
    void forEach(IntConsumer to) {
        for (int i = 0; i < count; i++) {
            to.accept(page(i));
        }
    }

    private void remove(int index) {
        count--;
        for (int i = index; i < count; i++) {
            put(i, page(i + 1));
        }
        put(count, -1);
        System.arraycopy(since, index + 1, since, index, count - index);
    }
}
