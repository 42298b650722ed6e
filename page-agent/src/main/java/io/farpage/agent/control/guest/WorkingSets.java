package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.WorkingSet;
import java.util.LinkedHashMap;
import java.util.Map;

/** The working sets of the guests that ended last, by the id of their space; earlier ones are dropped. Thread-safe. */
final class WorkingSets {
    /** Sets that are kept: each takes half a MiB of heap at most. */
    static final int MAX = 16;

    private final Map<Long, WorkingSet> latest = new LinkedHashMap<>();

    /** Pages that were resident when the space's latest guest ended; empty if they are no longer known. */
    synchronized WorkingSet of(long space) {
        return latest.getOrDefault(space, WorkingSet.EMPTY);
    }

    synchronized void keep(long space, WorkingSet left) {
        latest.remove(space);
        if (left.runs() > 0) {
            latest.put(space, left);
        }
        if (latest.size() > MAX) {
            latest.remove(latest.keySet().iterator().next());
        }
    }
}
