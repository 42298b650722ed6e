package io.farpage.limit;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A map of bounded size: a new entry beyond it replaces the one that was not used for the longest time. Not
 * thread-safe.
 */
final class RecentlyUsed<V> extends LinkedHashMap<String, V> {

    private static final long serialVersionUID = 1L;
    private static final float LOAD = 0.75f;

    private final int most;

    /** @param most entries that are kept, at least 1 */
    RecentlyUsed(int most) {
        super(16, LOAD, /* accessOrder= */ true);
        this.most = most;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
        return size() > most;
    }
}
