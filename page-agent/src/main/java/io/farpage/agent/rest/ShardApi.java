package io.farpage.agent.rest;

import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.rest.Route;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;

/** Status and metrics of the threads that move pages. */
public final class ShardApi {
    private final List<ShardLoop> shards;

    public ShardApi(List<ShardLoop> shards) {
        this.shards = List.copyOf(shards);
    }

    /**
     * One thread, in the answer of {@code GET /api/v1/shards}.
     *
     * @param thread its name
     * @param scheduling how the kernel schedules it, and how to improve that
     * @param realTime whether it has real-time priority at this moment
     * @param pauses how often it has lost the priority until the next window, because a CPU's budget was used up
     */
    public record ShardStatus(String thread, String scheduling, boolean realTime, long pauses) {
        static ShardStatus of(ShardLoop shard) {
            return new ShardStatus(
                    shard.thread().getName(),
                    shard.scheduling().describe(),
                    shard.scheduling().isRealTime(),
                    shard.scheduling().pauses());
        }
    }

    /** Its routes. */
    public List<Route> routes() {
        return List.of(Route.get(
                "/api/v1/shards",
                "The threads that move pages, and how they are scheduled",
                ShardStatus[].class,
                ctx -> ctx.json(shards.stream().map(ShardStatus::of).toList())));
    }

    /** Registers its metrics. */
    public void register(PrometheusRegistry registry) {
        GaugeWithCallback.builder()
                .name("farpage_agent_shard_realtime")
                .help("Whether a thread that moves pages has real-time priority")
                .labelNames("thread")
                .callback(callback -> shards.forEach(shard -> callback.call(
                        shard.scheduling().isRealTime() ? 1 : 0, shard.thread().getName())))
                .register(registry);
        CounterWithCallback.builder()
                .name("farpage_agent_shard_realtime_pauses_total")
                .help(
                        "How often a thread that moves pages lost its real-time priority because the CPU's budget was used up")
                .labelNames("thread")
                .callback(callback -> shards.forEach(shard -> callback.call(
                        (double) shard.scheduling().pauses(), shard.thread().getName())))
                .register(registry);
    }
}
