package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.memory.PagerCounters;

/** Faults of a pager that does not exist. */
public final class TracedFaults {
    private final PagerCounters counters = new PagerCounters();

    /** The counters of the pager. */
    public PagerCounters counters() {
        return counters;
    }

    /** Makes the pager end a fault. */
    public void record(int page, long seenAt, long arrivedAt, long endedAt) {
        counters.recordFault(page, seenAt, arrivedAt, endedAt);
    }
}
