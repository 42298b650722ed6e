package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.pool.PagePool;
import org.jspecify.annotations.Nullable;

/** The run of pages and the staging frames of each slot of a pager's fetcher. */
final class Transfers {
    /** Bytes of a transfer of several pages. The first page arrives only when all have. */
    private static final int MAX_BYTES = PagerOptions.MAX_RUN * Installer.BASE_PAGE;

    /** Prefetching and write-back may each hold one part in so many of the staging memory. */
    private static final int SHARE = 4;

    private final Fetcher fetcher;
    private final Homes homes;
    private final PagePool pool;
    private final int framesPerPage;
    private final int maxRun;
    private final int[] first;
    private final int[] count;
    private final int[] frame;
    private final @Nullable Home[] home;
    private final boolean[] isWriteBack;
    private final boolean[] isForWrite;
    private final long[] removed;
    private final int[] completed;
    private final long[] seenAt;
    private final long[] arrivedAt;

    Transfers(Fetcher fetcher, Homes homes, PagePool pool, int pageBytes) {
        int capacity = fetcher.capacity();
        this.fetcher = fetcher;
        this.homes = homes;
        this.pool = pool;
        framesPerPage = pageBytes / pool.frameBytes();
        int stagingPages = pool.stagingFrames().capacity() / framesPerPage;
        maxRun = Math.max(1, Math.min(MAX_BYTES / pageBytes, stagingPages));
        first = new int[capacity];
        count = new int[capacity];
        frame = new int[capacity];
        home = new Home[capacity];
        isWriteBack = new boolean[capacity];
        isForWrite = new boolean[capacity];
        removed = new long[capacity];
        completed = new int[capacity];
        seenAt = new long[capacity];
        arrivedAt = new long[capacity];
    }

    /** The most pages of one transfer. */
    int maxRun() {
        return maxRun;
    }

    /** Pages of staging memory that prefetching or write-back may hold at once, so that faults find frames, too; 1 or more. */
    int share() {
        return Math.max(1, pool.stagingFrames().capacity() / framesPerPage / SHARE);
    }

    /** Whether a slot has a transfer of this guest. */
    boolean owns(int slot) {
        return count[slot] > 0;
    }

    /** Allocates staging frames for a run of pages, or returns {@link io.farpage.pool.frames.FrameAllocator#NONE}. */
    int allocate(int pages) {
        return pool.stagingFrames().allocateRun(pages * framesPerPage);
    }

    /** Frees the frames of {@code pages} pages from the {@code index}th on. */
    void free(int firstFrame, int index, int pages) {
        pool.stagingFrames().freeRun(firstFrame + index * framesPerPage, pages * framesPerPage);
    }

    /** The frame of the {@code index}th page. */
    int frameOf(int firstFrame, int index) {
        return firstFrame + index * framesPerPage;
    }

    /** Where the frame of the {@code index}th page is within the staging memory, bytes. */
    long stagingOffset(int firstFrame, int index) {
        return pool.offset(firstFrame + index * framesPerPage);
    }

    long stagingAddress(int firstFrame, int index) {
        return pool.stagingAddress() + stagingOffset(firstFrame, index);
    }

    /** Records the transfer of a slot. */
    void begin(int slot, int page, int pages, int firstFrame, boolean writeBack, boolean forWrite, long seenNanos) {
        first[slot] = page;
        count[slot] = pages;
        frame[slot] = firstFrame;
        isWriteBack[slot] = writeBack;
        isForWrite[slot] = forWrite;
        removed[slot] = 0;
        completed[slot] = 0;
        seenAt[slot] = seenNanos;
    }

    /** Records the home of a slot's transfer; call it after {@link #begin}. */
    void with(int slot, Home other) {
        home[slot] = other;
        homes.begin(other, count[slot], isWriteBack[slot]);
    }

    /** A slot's transfer has succeeded, so its home answers. */
    void succeeded(int slot) {
        Home other = home[slot];
        if (other != null) {
            homes.answered(other);
        }
    }

    /** Frees a slot and its frames. */
    void end(int slot) {
        Home other = home[slot];
        if (other != null) {
            homes.end(other, count[slot], isWriteBack[slot]);
            home[slot] = null;
        }
        free(frame[slot], 0, count[slot]);
        count[slot] = 0;
        fetcher.release(slot);
    }

    int first(int slot) {
        return first[slot];
    }

    int count(int slot) {
        return count[slot];
    }

    int frame(int slot) {
        return frame[slot];
    }

    boolean isWriteBack(int slot) {
        return isWriteBack[slot];
    }

    boolean isForWrite(int slot) {
        return isForWrite[slot];
    }

    /** Pages of the run that are completed: installed, or given up. */
    int completed(int slot) {
        return completed[slot];
    }

    void complete(int slot, int pages) {
        completed[slot] += pages;
    }

    boolean isRemoved(int slot, int index) {
        return ((removed[slot] >>> index) & 1) != 0;
    }

    long seenAt(int slot) {
        return seenAt[slot];
    }

    void arrived(int slot, long nowNanos) {
        arrivedAt[slot] = nowNanos;
    }

    long arrivedAt(int slot) {
        return arrivedAt[slot];
    }

    /** The guest has given up a page that is being fetched: it must not be installed. */
    void remove(int page) {
        int slot = fetching(page);
        if (slot != Fetcher.NONE) {
            removed[slot] |= 1L << (page - first[slot]);
        }
    }

    /** As {@link #remove(int)}, of pages from {@code page} on. */
    void remove(int page, int pages) {
        for (int slot = 0; slot < first.length; slot++) {
            int from = Math.max(page, first[slot] + completed[slot]);
            int until = Math.min(page + pages, first[slot] + count[slot]);
            if (!isWriteBack[slot] && from < until) {
                long bits = until - from == Long.SIZE ? -1L : (1L << (until - from)) - 1;
                removed[slot] |= bits << (from - first[slot]);
            }
        }
    }

    /** A thread waits to write to a page that is being fetched. */
    void wantForWrite(int page) {
        int slot = fetching(page);
        if (slot != Fetcher.NONE && first[slot] == page) {
            isForWrite[slot] = true;
        }
    }

    private int fetching(int page) {
        for (int slot = 0; slot < first.length; slot++) {
            if (!isWriteBack[slot]
                    && page >= first[slot] + completed[slot]
                    && page < first[slot] + count[slot]
                    && !isRemoved(slot, page - first[slot])) {
                return slot;
            }
        }
        return Fetcher.NONE;
    }
}
