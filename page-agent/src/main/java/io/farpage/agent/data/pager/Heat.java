package io.farpage.agent.data.pager;

import java.util.ArrayList;
import java.util.List;

/**
 * How often pages were asked for, in blocks of 512 pages, or of more if that would be more than {@link #MAX_BLOCKS}. The shard's thread counts;
 * any thread may read what it counted a moment ago.
 */
public final class Heat {
    /** Blocks, and so ranges of a report, at most: about 50 KB of JSON. */
    public static final int MAX_BLOCKS = 1024;

    private static final int MIN_SHIFT = 9;

    private final int pages;
    private final int shift;
    private final int[] faults;

    Heat(int pages) {
        this.pages = pages;
        int enough = MIN_SHIFT;
        while (blocks(pages, enough) > MAX_BLOCKS) {
            enough++;
        }
        shift = enough;
        faults = new int[(int) blocks(pages, shift)];
    }

    private static long blocks(int pages, int shift) {
        return (pages + (1L << shift) - 1) >> shift;
    }

    void add(int page) {
        faults[page >> shift]++;
    }

    /**
     * Pages that were asked for.
     *
     * @param faults of all of them since the guest began
     */
    public record Range(int firstPage, int count, long faults) {}

    /** Every block that was asked for, with the faults in it. Any thread. */
    public List<Range> report() {
        List<Range> ranges = new ArrayList<>();
        for (int block = 0; block < faults.length; block++) {
            if (faults[block] > 0) {
                int first = block << shift;
                ranges.add(new Range(first, Math.min(1 << shift, pages - first), faults[block]));
            }
        }
        return ranges;
    }
}
