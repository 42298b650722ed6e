package io.farpage.agent.node;

import io.farpage.agent.data.coherence.CoherentSpaces;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import java.util.function.Function;

/**
 * The shard that serves coherent spaces.
 *
 * @param links the shard's side of the link to a node
 */
record CoherentShard(ShardLoop shard, Function<String, PeerLink> links) implements CoherentSpaces.Home {
    @Override
    public void run(Runnable task) {
        shard.submit(new ShardCommand.Run(task));
    }

    @Override
    public void add(DutyCycle cycle) {
        shard.submit(new ShardCommand.AddCycle(cycle));
    }

    @Override
    public void open(String peer) {
        shard.submit(new ShardCommand.OpenMessages(links.apply(peer)));
    }
}
