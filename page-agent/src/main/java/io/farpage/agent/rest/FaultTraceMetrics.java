package io.farpage.agent.rest;

import io.farpage.agent.control.trace.FaultTraces;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Optional;
import java.util.function.Supplier;

/** The metrics of the traces of faults; without a value while faults are not traced. */
public final class FaultTraceMetrics {
    private FaultTraceMetrics() {}

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<Optional<FaultTraces>> traces) {
        CounterWithCallback.builder()
                .name("farpage_agent_trace_faults_dropped_total")
                .help("Faults that were to be traced and came faster than they were collected")
                .callback(callback -> traces.get().ifPresent(one -> callback.call((double) one.dropped())))
                .register(registry);
    }
}
