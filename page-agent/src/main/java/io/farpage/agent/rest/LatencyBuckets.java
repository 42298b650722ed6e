package io.farpage.agent.rest;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * The buckets that all latencies are exported with: equal bounds everywhere, so that the histograms of nodes and guests
 * can be added up.
 */
final class LatencyBuckets {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double[] STEPS = {1, 1.5, 2, 3, 5, 7};
    private static final double MICROSECOND = 1000;
    private static final int DECADES = 7;

    /** Upper bounds in nanoseconds: from a microsecond to seven seconds, six in each decade. */
    private static final double[] BOUNDS = IntStream.range(0, DECADES)
            .mapToObj(decade -> Arrays.stream(STEPS).map(step -> step * MICROSECOND * Math.pow(10, decade)))
            .flatMapToDouble(bounds -> bounds)
            .toArray();

    private LatencyBuckets() {}

    /** The buckets of a histogram of nanoseconds, as seconds. */
    static ClassicHistogramBuckets of(Histogram nanos) {
        long[] counts = new long[BOUNDS.length + 1];
        for (HistogramIterationValue value : nanos.recordedValues()) {
            long lowest = nanos.lowestEquivalentValue(value.getValueIteratedTo());
            int at = Arrays.binarySearch(BOUNDS, (double) lowest);
            counts[at < 0 ? -at - 1 : at] += value.getCountAtValueIteratedTo();
        }
        double[] seconds = DoubleStream.concat(
                        Arrays.stream(BOUNDS).map(bound -> bound / NANOS_PER_SECOND),
                        DoubleStream.of(Double.POSITIVE_INFINITY))
                .toArray();
        return ClassicHistogramBuckets.of(seconds, counts);
    }
}
