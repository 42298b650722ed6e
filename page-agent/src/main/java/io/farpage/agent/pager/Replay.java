package io.farpage.agent.pager;

/** Fetches, before they are asked for, pages that follow a stride and those that were here when the space's last guest ended. */
final class Replay {
    private final WorkingSet workingSet;
    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final Arrivals arrivals;
    private int run;
    private int doneOfRun;

    Replay(WorkingSet workingSet, PageTable table, GuestLayout layout, Homes homes, Arrivals arrivals) {
        this.workingSet = workingSet;
        this.table = table;
        this.layout = layout;
        this.homes = homes;
        this.arrivals = arrivals;
    }

    /** Whether there is nothing left of the working set. */
    boolean isDone() {
        return run >= workingSet.runs();
    }

    /**
     * Fetches some of the working set, as long as no fault has need of what that takes.
     *
     * @param limit pages that may be resident; half of them are left to the faults
     * @return how many runs were dealt with
     */
    int doWork(int limit) {
        int work = 0;
        while (!isDone() && arrivals.hasSlotsToSpare()) {
            int count = workingSet.count(run) - doneOfRun;
            if (count > limit / 2 - table.resident() - arrivals.incoming()) {
                run = workingSet.runs();
                return work;
            }
            int had = prefetch(workingSet.first(run) + doneOfRun, count);
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

    /** Fetches what of a run of pages is at its home. Returns how many pages were dealt with, 0 if there is no room. */
    int prefetch(int page, int count) {
        if (page < 0 || page >= table.pages() || layout.addressOf(page) == GuestLayout.NONE) {
            return 1;
        }
        int reach = homes.contiguous(homes.extent(page), page, layout.contiguous(page, count));
        int remote = 0;
        while (remote < reach && table.kind(page + remote) == PageTable.REMOTE) {
            remote++;
        }
        return remote == 0 ? 1 : arrivals.fetch(page, remote, false, Arrivals.NOBODY_WAITS);
    }
}
