package io.farpage.agent.data.pager.page;

/**
 * Counts the pages of a guest by where they are, over its address space, which is divided into parts of equal size. In
 * a part with more than {@link #COUNTED} pages, {@link #COUNTED} evenly spaced pages are counted: a census of a guest
 * of any size reads at most 8 MiB of page tables, eight entries at once. For one thread, which need not be the shard's:
 * it reads each entry as it was a moment ago.
 */
public final class PageCensus {
    /** Parts at most. */
    public static final int MAX_PARTS = 256;

    /** Pages that are counted of a part at most. */
    static final int COUNTED = 1 << 15;

    private static final int EIGHT = Long.BYTES;
    private static final long EVERY_BYTE = 0x0101_0101_0101_0101L;
    private static final int PERCENT = 100;

    /** Where a page may be. */
    public enum Where {
        /** In the memory of the guest's host. */
        RESIDENT,
        /** Resident, and newer than at its home. */
        DIRTY,
        /** At its home, or being fetched. */
        REMOTE,
        /** Never written, or given up. */
        ZERO,
        /** Lost with its home. */
        LOST
    }

    private final long pages;
    private final int parts;
    private final int[] counted;
    private final int[][] found;

    /** @param pages of the guest, 1 or more */
    public PageCensus(long pages) {
        this.pages = pages;
        parts = (int) Math.min(MAX_PARTS, pages);
        counted = new int[parts];
        found = new int[Where.values().length][parts];
    }

    /** Parts that the address space is divided into: 256, or one for each page of a guest with fewer. */
    public int parts() {
        return parts;
    }

    /** The percentage of a part's pages that are somewhere, rounded up, so that a single page is seen. */
    public int percent(Where where, int part) {
        return Math.ceilDiv(PERCENT * found[where.ordinal()][part], Math.max(1, counted[part]));
    }

    /**
     * Counts the pages of a pager's table.
     *
     * @param table not of a child
     * @param first the page of the guest that its first page is
     */
    public void add(PageTable table, long first) {
        for (int part = 0; part < parts; part++) {
            int from = clamp(firstOf(part) - first, table);
            int end = clamp(firstOf(part + 1) - first, table);
            count(table, part, from, end);
        }
    }

    /** Counts one page of the guest. */
    public void add(long page, Where where) {
        int part = (int) (((page + 1) * parts - 1) / pages);
        counted[part]++;
        found[where.ordinal()][part]++;
        if (where == Where.DIRTY) {
            found[Where.RESIDENT.ordinal()][part]++;
        }
    }

    private static int clamp(long page, PageTable table) {
        return Math.clamp(page, 0, table.pages());
    }

    private long firstOf(int part) {
        return pages / parts * part + pages % parts * part / parts;
    }

    private void count(PageTable table, int part, int from, int end) {
        int stride = EIGHT * Math.max(1, Math.ceilDiv(end - from, COUNTED));
        for (long at = from; at < end; ) {
            int page = (int) at;
            if ((page & (EIGHT - 1)) == 0 && end - page >= EIGHT) {
                count(part, table.eightEntries(page), EVERY_BYTE, EIGHT);
                at += stride;
            } else {
                count(part, table.state(page), 1, 1);
                at++;
            }
        }
    }

    /**
     * Counts entries. {@code each} is a mask of their lowest bits. A state has three bits; 100, 101 and 110 in binary
     * are resident.
     */
    private void count(int part, long entries, long each, int entryCount) {
        long low = entries & each;
        long middle = entries >>> 1 & each;
        long high = entries >>> 2 & each;
        counted[part] += entryCount;
        add(Where.RESIDENT, part, high);
        add(Where.DIRTY, part, high & (low ^ middle));
        add(Where.REMOTE, part, ~high & (low ^ middle));
        add(Where.ZERO, part, each & ~(low | middle | high));
        add(Where.LOST, part, ~high & low & middle);
    }

    private void add(Where where, int part, long bits) {
        found[where.ordinal()][part] += Long.bitCount(bits);
    }
}
