package io.farpage.agent.rest;

import io.farpage.rest.Metrics;
import java.util.Map;

/** The agent's metrics without values, for their reference. */
public final class DescribedMetrics {
    private DescribedMetrics() {}

    /** All that a running agent exports. */
    public static Metrics all() {
        Metrics metrics = new Metrics("farpage_agent");
        metrics.describeServer();
        AgentMetrics.register(metrics.registry(), Map.of(), Metrics.undefined(), Metrics.undefined());
        CoordinatorMetrics.register(metrics.registry(), Metrics.undefined());
        GuestMetrics.register(metrics.registry(), Metrics.undefined());
        ShardMetrics.register(metrics.registry(), Metrics.undefined());
        FaultTraceMetrics.register(metrics.registry(), Metrics.undefined());
        MountMetrics.register(metrics.registry(), Metrics.undefined());
        LatencyLogMetrics.register(metrics.registry(), Metrics.undefined());
        return metrics;
    }
}
