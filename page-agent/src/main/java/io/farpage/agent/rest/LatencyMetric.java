package io.farpage.agent.rest;

import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.Unit;
import java.util.List;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/**
 * A Prometheus histogram that is made of HdrHistograms when it is scraped, so that what records them does no more than
 * it did. Thread-safe if the source is.
 */
final class LatencyMetric implements Collector {
    private static final double NANOS_PER_SECOND = 1e9;

    private final MetricMetadata metadata;
    private final List<String> labelNames;
    private final Supplier<List<Sample>> source;

    /**
     * The latencies of one set of labels.
     *
     * @param nanos all since the start; not changed while it is read
     * @param labels values, in the order of the names
     */
    record Sample(Histogram nanos, List<String> labels) {}

    /**
     * @param name ends with {@code _seconds}
     * @param source asked at each scrape
     */
    LatencyMetric(String name, String help, List<String> labelNames, Supplier<List<Sample>> source) {
        this.metadata = new MetricMetadata(name, help, Unit.SECONDS);
        this.labelNames = List.copyOf(labelNames);
        this.source = source;
    }

    @Override
    public HistogramSnapshot collect() {
        return new HistogramSnapshot(
                metadata, source.get().stream().map(this::point).toList());
    }

    private HistogramDataPointSnapshot point(Sample sample) {
        Histogram nanos = sample.nanos();
        return HistogramDataPointSnapshot.builder()
                .classicHistogramBuckets(LatencyBuckets.of(nanos))
                .sum(nanos.getTotalCount() == 0 ? 0 : nanos.getMean() * nanos.getTotalCount() / NANOS_PER_SECOND)
                .labels(Labels.of(labelNames, sample.labels()))
                .build();
    }

    @Override
    public MetricFamilyDescriptor getMetricFamilyDescriptor() {
        return MetricFamilyDescriptor.of(MetricType.HISTOGRAM, metadata, labelNames);
    }
}
