package io.farpage.rest;

import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;

/** A registry that remembers what was registered, and so describes metrics that have no value yet. Thread-safe. */
final class MetricCatalog extends PrometheusRegistry {
    private static final List<String> UNITS = List.of("seconds", "bytes", "pages", "hugepages", "frames");

    private final List<Metric> metrics = new CopyOnWriteArrayList<>();

    /**
     * A metric as its reader sees it.
     *
     * @param name as exported, with {@code _total} if it is a counter
     * @param type counter, gauge, histogram or summary
     * @param unit of its value, or empty for a count or a flag
     * @param labels their names, sorted
     * @param help meaning
     */
    record Metric(String name, String type, String unit, List<String> labels, String help) {}

    @Override
    public void register(Collector collector) {
        super.register(collector);
        MetricFamilyDescriptor family = Objects.requireNonNull(collector.getMetricFamilyDescriptor());
        String name = family.getPrometheusName();
        metrics.add(new Metric(
                name + (family.getType() == MetricType.COUNTER ? "_total" : ""),
                family.getType().name().toLowerCase(Locale.ROOT),
                unit(name),
                family.getLabelNames().stream().sorted().toList(),
                Objects.requireNonNullElse(family.getMetadata().getHelp(), "")));
    }

    private static String unit(String name) {
        return UNITS.stream()
                .filter(unit -> name.endsWith("_" + unit))
                .findFirst()
                .orElse("");
    }

    /** All metrics, by name. */
    List<Metric> metrics() {
        return metrics.stream().sorted(Comparator.comparing(Metric::name)).toList();
    }
}
