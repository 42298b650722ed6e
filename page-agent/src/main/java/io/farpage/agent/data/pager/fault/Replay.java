package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;

/**
 * Prefetches the pages that are marked as {@linkplain PageTable#WANTED wanted}: those that were resident when the
 * space's last guest ended, or when this one was parked. The shard's thread only.
 */
public final class Replay {
    /** Runs, or parts of runs, that one duty cycle prefetches. */
    private static final int MAX_STEPS = 64;

    /** Pages that one duty cycle searches for marks: some microseconds. */
    private static final int MAX_SEARCHED = 65_536;

    private final PageTable table;
    private final Arrivals arrivals;
    private boolean isActive;
    private boolean sharesLimit;
    private boolean isFull;
    private int cursor;

    public Replay(PageTable table, Arrivals arrivals) {
        this.table = table;
        this.arrivals = arrivals;
    }

    /**
     * Begins with the first page.
     *
     * @param sharing whether half of the limit is left to faults, because another guest may need other pages; if not,
     *     the limit is filled up to where eviction begins
     */
    public void begin(boolean sharing) {
        isActive = true;
        sharesLimit = sharing;
        isFull = false;
        cursor = 0;
    }

    /** Whether there is nothing left to prefetch. */
    public boolean isDone() {
        return !isActive;
    }

    /**
     * Prefetches some wanted pages while slots and frames are not needed for faults. Once the limit leaves no room, the
     * remaining marks are cleared.
     *
     * @param limit pages that may be resident
     * @return the amount of work
     */
    public int doWork(int limit) {
        int end = (int) Math.min(table.pages(), (long) cursor + MAX_SEARCHED);
        int most = sharesLimit ? limit / 2 : limit - 2 * Residency.slack(limit);
        int work = 0;
        while (work < MAX_STEPS && cursor < end && arrivals.hasSlotsToSpare()) {
            work++;
            cursor = table.nextWanted(cursor, end);
            int run = wantedRun(end);
            long room = most - table.resident() - arrivals.incoming();
            isFull |= room <= 0;
            int dealt = run == 0 || isFull ? run : Math.min(run, arrivals.prefetch(cursor, (int) Math.min(run, room)));
            if (run > 0 && dealt == 0) {
                return work - 1;
            }
            for (int i = 0; i < dealt; i++) {
                table.clear(cursor + i, PageTable.WANTED);
            }
            cursor += dealt;
        }
        isActive = cursor < table.pages();
        return work;
    }

    private int wantedRun(int end) {
        int most = Math.min(end - cursor, PagerOptions.MAX_RUN);
        int run = 0;
        while (run < most && table.isWanted(cursor + run)) {
            run++;
        }
        return run;
    }
}
