package io.farpage.it.simulation.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What has happened, in words: the last steps, and how often each kind of fault. */
public final class Trail {
    private static final int KEPT = 200;

    private final Deque<String> last = new ArrayDeque<>();
    private final List<String> faults = new ArrayList<>();
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

    /** A step that makes something fail. All of these are kept. */
    public void fault(long nanos, String step) {
        note(nanos, step);
        faults.add(last.getLast());
    }

    /** A fault of a kind. */
    public void count(String kind) {
        counts.merge(kind, 1, Integer::sum);
    }

    public Map<String, Integer> counts() {
        return counts;
    }

    /** The faults that came before the last steps, and the last steps, a line each. */
    public String text() {
        return Stream.concat(faults.stream().filter(step -> !last.contains(step)), last.stream())
                .collect(Collectors.joining("\n"));
    }
}
