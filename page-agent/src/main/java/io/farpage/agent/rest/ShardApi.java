package io.farpage.agent.rest;

import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.rest.Route;
import java.util.List;

/** Status of the threads that move pages. */
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
        return List.of(Route.answering(
                AgentOperations.SHARDS,
                ctx -> shards.stream().map(ShardStatus::of).toList()));
    }
}
