package io.farpage.agent.rest;

import io.farpage.agent.control.latency.LatencyLog;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The metrics of the interval log of latencies; without a value if there is no such log. */
public final class LatencyLogMetrics {
    private LatencyLogMetrics() {}

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<Optional<LatencyLog>> log) {
        count(
                registry,
                "farpage_agent_latency_intervals_total",
                "Intervals of latencies written to latency.directory",
                log,
                LatencyLog::written);
        count(
                registry,
                "farpage_agent_latency_intervals_lost_total",
                "Intervals of latencies that latency.directory did not take, as when its disk is full",
                log,
                LatencyLog::lost);
    }

    private static void count(
            PrometheusRegistry registry,
            String name,
            String help,
            Supplier<Optional<LatencyLog>> log,
            ToLongFunction<LatencyLog> value) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> log.get().ifPresent(one -> callback.call((double) value.applyAsLong(one))))
                .register(registry);
    }
}
