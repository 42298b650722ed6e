package io.farpage.agent.pager;

import io.farpage.coordinator.model.HeatReport;
import java.util.ArrayList;
import java.util.List;

/** How often pages were asked for, in blocks of 512 pages. The shard's thread counts; any thread may read what it counted a moment ago. */
public final class Heat {
    private static final int BLOCK_SHIFT = 9;
    private static final int MAX_RANGES = 65_536;

    private final int pages;
    private final int[] faults;

    Heat(int pages) {
        this.pages = pages;
        this.faults = new int[(pages + (1 << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT];
    }

    void add(int page) {
        faults[page >> BLOCK_SHIFT]++;
    }

    /** What to tell the coordinator: every block that was asked for, with the faults in it. */
    public HeatReport report() {
        List<HeatReport.Range> ranges = new ArrayList<>();
        for (int block = 0; block < faults.length && ranges.size() < MAX_RANGES; block++) {
            if (faults[block] > 0) {
                int first = block << BLOCK_SHIFT;
                ranges.add(new HeatReport.Range(first, Math.min(1 << BLOCK_SHIFT, pages - first), faults[block]));
            }
        }
        return new HeatReport(ranges);
    }
}
