package io.farpage.agent.data.coherence;

import java.lang.foreign.MemorySegment;
import java.util.List;

/** The pages of a directory, which are in one or several parts of the space, under indices from 0 on. Immutable. */
final class DirectoryExtents {
    /** No index: the page is in none of the extents. */
    static final int ELSEWHERE = -1;

    /**
     * A part of the space.
     *
     * @param firstPage in the space
     * @param frames of its pages
     */
    record Extent(long firstPage, MemorySegment frames) {
        int pages() {
            return (int) (frames.byteSize() / CoherentMessage.PAGE_BYTES);
        }
    }

    private final Extent[] extents;
    /** Index of the first page of each extent. */
    private final int[] bases;

    private final int pages;

    /** @param extents by their first pages */
    DirectoryExtents(List<Extent> extents) {
        this.extents = extents.toArray(Extent[]::new);
        bases = new int[this.extents.length];
        int count = 0;
        for (int i = 0; i < bases.length; i++) {
            bases[i] = count;
            count = Math.addExact(count, this.extents[i].pages());
        }
        pages = count;
    }

    /** How many extents there are. */
    int count() {
        return extents.length;
    }

    /** By which a member's SYNC_END says that it has named the pages of these extents, and no others. */
    long layout() {
        long sum = 0;
        for (Extent extent : extents) {
            sum = CoherentMessage.layout(sum, extent.firstPage(), extent.pages());
        }
        return sum;
    }

    /** How many pages there are. */
    int pages() {
        return pages;
    }

    /** How many pages an extent has. */
    int pages(int extent) {
        return extents[extent].pages();
    }

    /** Index of the first page of an extent. */
    int base(int extent) {
        return bases[extent];
    }

    /** Index of a page of the space, or {@link #ELSEWHERE}. */
    int index(long page) {
        for (int i = extents.length - 1; i >= 0; i--) {
            long offset = page - extents[i].firstPage();
            if (offset >= 0) {
                return offset < extents[i].pages() ? bases[i] + (int) offset : ELSEWHERE;
            }
        }
        return ELSEWHERE;
    }

    /** The extent that a page with an index is in, from 0 on. */
    int extentOf(int index) {
        int extent = bases.length - 1;
        while (bases[extent] > index) {
            extent--;
        }
        return extent;
    }

    /** The page of the space with an index. */
    long page(int index) {
        int extent = extentOf(index);
        return extents[extent].firstPage() + index - bases[extent];
    }

    /** The frames among which that of a page is. */
    MemorySegment frames(int index) {
        return extents[extentOf(index)].frames();
    }

    /** Where the frame of a page begins in these, bytes. */
    long offset(int index) {
        return (long) (index - bases[extentOf(index)]) * CoherentMessage.PAGE_BYTES;
    }
}
