package io.farpage.it.simulation.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What has happened, in words: the last steps, and how often each kind of fault. */
public final class Trail {
    private static final int KEPT = 200;

    private final Deque<String> last = new ArrayDeque<>();
    private final Map<String, Integer> counts = new TreeMap<>();

    /** A step. */
    public void note(long nanos, String step) {
        if (last.size() == KEPT) {
            last.removeFirst();
        }
        last.addLast(String.format(Locale.ROOT, "%12.6f s  %s", nanos / 1e9, step));
        if (System.getProperty("simulation.follow") != null) {
            System.err.println(last.getLast());
        }
    }

    /** A fault of a kind. */
    public void count(String kind) {
        counts.merge(kind, 1, Integer::sum);
    }

    public Map<String, Integer> counts() {
        return counts;
    }

    /** The last steps, a line each. */
    public String text() {
        return String.join("\n", last);
    }
}
