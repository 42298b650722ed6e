package io.farpage.agent.data.pager.home;

import java.util.HashMap;
import java.util.Map;

/**
 * Pages that came from a home other than they were sealed, and the homes that they came from so. A page leaves when it
 * opens, when it is lost, and when the guest gives it up. The shard's thread only. Allocates nothing while there are
 * none.
 */
public final class SuspectPages {
    /** By page: a bit for each copy of its extent that was tried. */
    private final Map<Integer, Integer> tried = new HashMap<>();

    public boolean isEmpty() {
        return tried.isEmpty();
    }

    /** A bit for each copy of the page that did not open. */
    public int tried(int page) {
        return tried.isEmpty() ? 0 : tried.getOrDefault(page, 0);
    }

    /** A copy of a page did not open. */
    void add(int page, int copy) {
        tried.merge(page, 1 << copy, (one, other) -> one | other);
    }

    public void remove(int page) {
        if (!tried.isEmpty()) {
            tried.remove(page);
        }
    }

    public void remove(int first, int count) {
        if (!tried.isEmpty()) {
            tried.keySet().removeIf(page -> page >= first && page - first < count);
        }
    }

    /** The copies are counted anew: every home is tried again. */
    void clear() {
        tried.clear();
    }
}
