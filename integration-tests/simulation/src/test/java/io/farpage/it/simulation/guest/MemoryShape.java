package io.farpage.it.simulation.guest;

/**
 * The memory of a guest. What a guest stores and loads are the numbers in the <em>cells</em> of its pages: a small page
 * has one, a large page has several, and the guest may give up some of them.
 *
 * @param pages how many it has
 * @param pageBytes 4096 or 2 MiB
 * @param slices userfaultfds that it is registered with, each a part of it; 1 or 2
 */
public record MemoryShape(int pages, int pageBytes, int slices) {
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;
    private static final int CELLS_OF_LARGE = 4;

    /** Pages of 4 KiB. */
    public static MemoryShape small(int pages, int slices) {
        return new MemoryShape(pages, SMALL, slices);
    }

    /** Pages of 2 MiB. */
    public static MemoryShape large(int pages, int slices) {
        return new MemoryShape(pages, LARGE, slices);
    }

    public boolean isLarge() {
        return pageBytes == LARGE;
    }

    public long bytes() {
        return (long) pages * pageBytes;
    }

    int cellsPerPage() {
        return isLarge() ? CELLS_OF_LARGE : 1;
    }

    int cells() {
        return pages * cellsPerPage();
    }

    int cellBytes() {
        return pageBytes / cellsPerPage();
    }

    /** The page of a cell. */
    int pageOf(int cell) {
        return cell / cellsPerPage();
    }
}
