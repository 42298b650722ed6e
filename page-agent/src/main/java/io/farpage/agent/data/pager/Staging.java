package io.farpage.agent.data.pager;

import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.lang.foreign.MemorySegment;

/** Staging memory as a guest's pager uses it: runs of frames, of which each page takes one or more. The shard's thread only. */
final class Staging {
    /** No run of frames is free. */
    static final int NONE = FrameAllocator.NONE;

    /** Bytes of a transfer of several pages. The first page arrives only when all have. */
    private static final int MAX_BYTES = PagerOptions.MAX_RUN * Installer.BASE_PAGE;

    /** Prefetching and write-back may each hold one part in so many of the staging memory. */
    private static final int SHARE = 4;

    private final PagePool pool;
    private final int pageBytes;
    private final int framesPerPage;
    private final int pages;

    /** @param pageBytes bytes of a page of the guest, a multiple of the pool's frames */
    Staging(PagePool pool, int pageBytes) {
        this.pool = pool;
        this.pageBytes = pageBytes;
        framesPerPage = pageBytes / pool.frameBytes();
        pages = pool.stagingFrames().capacity() / framesPerPage;
    }

    /** Bytes of a page of the guest. */
    int pageBytes() {
        return pageBytes;
    }

    /** The most pages of one transfer. */
    int maxRun() {
        return Math.max(1, Math.min(MAX_BYTES / pageBytes, pages));
    }

    /** Pages that prefetching or write-back may hold at once, so that faults find frames, too; 1 or more. */
    int share() {
        return Math.max(1, pages / SHARE);
    }

    /** Allocates the frames of a run of pages. Returns the first frame, or {@link #NONE}. */
    int allocate(int count) {
        return pool.stagingFrames().allocateRun(count * framesPerPage);
    }

    /** Frees the frames of {@code count} pages. */
    void free(int frame, int count) {
        pool.stagingFrames().freeRun(frame, count * framesPerPage);
    }

    /** The first frame of the {@code index}th page of a run. */
    int frameOf(int frame, int index) {
        return frame + index * framesPerPage;
    }

    /** The address of a frame in this process. */
    long address(int frame) {
        return pool.stagingAddress() + pool.offset(frame);
    }

    /** Whether a page is all zeros. */
    boolean isZero(int frame) {
        long offset = pool.offset(frame);
        return MemorySegment.mismatch(pool.staging(), offset, offset + pageBytes, Zeros.segment(), 0, pageBytes) == -1;
    }

    /** Fills a page with zeros. */
    void zero(int frame) {
        pool.staging().asSlice(pool.offset(frame), pageBytes).fill((byte) 0);
    }

    /**
     * Copies pages from the exported part of the pool, of which this node is a home.
     *
     * @param offset within the exported part, bytes
     */
    void copyFromExported(int frame, int count, long offset) {
        MemorySegment.copy(pool.exported(), offset, pool.staging(), pool.offset(frame), (long) count * pageBytes);
    }

    /**
     * Copies pages to the exported part of the pool: this node is their home.
     *
     * @param offset within the exported part, bytes
     */
    void copyToExported(int frame, int count, long offset) {
        MemorySegment.copy(pool.staging(), pool.offset(frame), pool.exported(), offset, (long) count * pageBytes);
    }
}
