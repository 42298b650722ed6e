package io.farpage.agent.rest;

import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.verbs.WcStatus;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Metrics of the threads that move pages, and of what the devices report to them. */
public final class ShardMetrics {
    private ShardMetrics() {}

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<List<ShardLoop>> shards) {
        GaugeWithCallback.builder()
                .name("farpage_agent_shard_realtime")
                .help("Whether a thread that moves pages has real-time priority")
                .labelNames("thread")
                .callback(callback -> shards.get()
                        .forEach(shard -> callback.call(
                                shard.scheduling().isRealTime() ? 1 : 0,
                                shard.thread().getName())))
                .register(registry);
        CounterWithCallback.builder()
                .name("farpage_agent_shard_realtime_pauses_total")
                .help("How often a thread that moves pages lost its real-time priority because the CPU's budget was"
                        + " used up")
                .labelNames("thread")
                .callback(callback -> shards.get()
                        .forEach(shard -> callback.call(
                                (double) shard.scheduling().pauses(),
                                shard.thread().getName())))
                .register(registry);
        CounterWithCallback.builder()
                .name("farpage_agent_completion_errors_total")
                .help("Completions with a status other than success, by device and status")
                .labelNames("device", "status")
                .callback(callback -> byDevice(shards.get()).forEach((device, rails) -> {
                    for (WcStatus status : EnumSet.complementOf(EnumSet.of(WcStatus.SUCCESS))) {
                        long errors = rails.stream()
                                .mapToLong(rail -> rail.errors(status))
                                .sum();
                        callback.call((double) errors, device, status.name().toLowerCase(Locale.ROOT));
                    }
                }))
                .register(registry);
    }

    private static Map<String, List<Rail>> byDevice(List<ShardLoop> shards) {
        return shards.stream()
                .flatMap(shard -> shard.shard().devices().stream())
                .collect(Collectors.groupingBy(Rail::name));
    }
}
