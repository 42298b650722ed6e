package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.WorkingSet;

/** Prefetches the pages that were resident when the space's last guest ended. */
public final class Replay {
    /** Runs, or parts of runs, that one duty cycle prefetches. */
    private static final int MAX_STEPS = 64;

    private final WorkingSet workingSet;
    private final PageTable table;
    private final Arrivals arrivals;
    private int run;
    private int doneOfRun;

    public Replay(WorkingSet workingSet, PageTable table, Arrivals arrivals) {
        this.workingSet = workingSet;
        this.table = table;
        this.arrivals = arrivals;
    }

    /** Whether there is nothing left of the working set. */
    public boolean isDone() {
        return run >= workingSet.runs();
    }

    /**
     * Prefetches a part of the working set while slots and frames are not needed for faults.
     *
     * @param limit pages that may be resident; half of them are left to faults
     * @return the amount of work
     */
    public int doWork(int limit) {
        int work = 0;
        while (!isDone() && work < MAX_STEPS && arrivals.hasSlotsToSpare()) {
            int count = workingSet.count(run) - doneOfRun;
            if (count > limit / 2 - table.resident() - arrivals.incoming()) {
                run = workingSet.runs();
                return work;
            }
            int had = arrivals.prefetch(workingSet.first(run) + doneOfRun, count);
            if (had == 0) {
                return work;
            }
            work++;
            doneOfRun += had;
            if (doneOfRun >= workingSet.count(run)) {
                doneOfRun = 0;
                run++;
            }
        }
        return work;
    }
}
