package io.farpage.agent.rest;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.model.Seen;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.Supplier;

/** What the agent knows of the cluster's history, and whether it obeys the coordinator. */
public final class CoordinatorMetrics {
    private CoordinatorMetrics() {}

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<Allegiance> allegiance) {
        GaugeWithCallback.builder()
                .name("farpage_agent_coordinator_obeyed")
                .help("0 if the coordinator that answered last keeps another cluster, or an older or diverged copy of"
                        + " the state")
                .callback(callback ->
                        callback.call(allegiance.get().status().refusal().isEmpty() ? 1 : 0))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_coordinator_revision")
                .help("Highest revision of the coordinator's state that this agent has seen")
                .callback(callback -> callback.call((double)
                        allegiance.get().status().seen().map(Seen::revision).orElse(0L)))
                .register(registry);
        CounterWithCallback.builder()
                .name("farpage_agent_coordinator_answers_refused_total")
                .help("Answers of a coordinator that were not used")
                .callback(callback ->
                        callback.call((double) allegiance.get().status().refusedAnswers()))
                .register(registry);
    }
}
