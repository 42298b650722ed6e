package io.farpage.agent.data.pager;

import org.jspecify.annotations.Nullable;

/**
 * A transfer of a run of pages: what it is for, its staging frames, and how far it is completed. {@link Transfers} makes one for each slot and uses it
 * again and again.
 */
final class Transfer {
    private final int slot;
    private Kind kind = Kind.FETCH;
    private int first;
    private int count;
    private int frame;
    private @Nullable Home home;

    private @Nullable Arrivals owner;
    private boolean isForWrite;
    private long seenAt;
    private long arrivedAt;
    private int completed;
    private long removed;

    /** What a transfer is for, and so which part of the pager completes it. */
    enum Kind {
        /** A READ; {@link Arrivals} installs the pages. */
        FETCH,
        /** A WRITE of the {@link Evictor}. */
        EVICTION,
        /** A WRITE of the evictor, of pages that are all zeros. */
        EVICTION_OF_ZEROS,
        /** A WRITE of the {@link Flush}. */
        FLUSH
    }

    Transfer(int slot) {
        this.slot = slot;
    }

    void begin(Kind what, int page, int pages, int firstFrame, Home with) {
        kind = what;
        first = page;
        count = pages;
        frame = firstFrame;
        home = with;
        owner = null;
        isForWrite = false;
        seenAt = 0;
        completed = 0;
        removed = 0;
    }

    void end() {
        count = 0;
        owner = null;
        home = null;
    }

    /** Names the part that installs the pages, and the fault that the first page is fetched for. */
    void fetchesFor(Arrivals installs, boolean write, long seenNanos) {
        owner = installs;
        isForWrite = write;
        seenAt = seenNanos;
    }

    /** Its slot of the fetcher. */
    int slot() {
        return slot;
    }

    Kind kind() {
        return kind;
    }

    boolean isWrite() {
        return kind != Kind.FETCH;
    }

    int first() {
        return first;
    }

    int count() {
        return count;
    }

    /** The first of its staging frames. */
    int frame() {
        return frame;
    }

    @Nullable
    Home home() {
        return home;
    }

    /** The part that installs the pages of a transfer of kind {@link Kind#FETCH}; null for the other kinds. */
    @Nullable
    Arrivals owner() {
        return owner;
    }

    /** Whether a thread waits to write to the first page. */
    boolean isForWrite() {
        return isForWrite;
    }

    /** When the fault was seen, nanoseconds, or {@link Arrivals#PREFETCH}. */
    long seenAt() {
        return seenAt;
    }

    void arrived(long nowNanos) {
        arrivedAt = nowNanos;
    }

    /** When the pages arrived, nanoseconds. */
    long arrivedAt() {
        return arrivedAt;
    }

    /** Pages of the run that are completed: installed, or given up. */
    int completed() {
        return completed;
    }

    void complete(int pages) {
        completed += pages;
    }

    boolean isRemoved(int index) {
        return ((removed >>> index) & 1) != 0;
    }

    /** The guest has given up those of some pages that are not completed: they must not be installed. */
    void remove(int page, int pages) {
        int from = Math.max(page, first + completed);
        int until = Math.min(page + pages, first + count);
        if (from < until) {
            long bits = until - from == Long.SIZE ? -1L : (1L << (until - from)) - 1;
            removed |= bits << (from - first);
        }
    }

    /** A thread waits to write to a page. */
    void wantForWrite(int page) {
        isForWrite |= count > 0 && first == page && completed == 0 && !isRemoved(0);
    }
}
