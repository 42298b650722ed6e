package io.farpage.agent.control.latency;

import java.util.SortedMap;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * The latencies of one interval by the names of their series, and of the sum of those that begin alike: {@code fault}
 * of {@code fault:a} and {@code fault:b}.
 */
public final class MergedLatencies {
    private final SortedMap<String, Histogram> series = new TreeMap<>();

    /** Adds what one recorder of a series has recorded. Not kept. */
    public void add(String name, Histogram nanos) {
        merge(name, nanos);
        String sum = LatencySeries.sum(name);
        if (!sum.equals(name)) {
            merge(sum, nanos);
        }
    }

    private void merge(String name, Histogram nanos) {
        Histogram merged = series.computeIfAbsent(name, _ -> new Histogram(nanos.getNumberOfSignificantValueDigits()));
        merged.add(nanos);
    }

    /** By name; a sum is before its parts. Nanoseconds. */
    public SortedMap<String, Histogram> bySeries() {
        return series;
    }
}
