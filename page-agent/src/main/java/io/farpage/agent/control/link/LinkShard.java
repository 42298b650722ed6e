package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.ShardLoop;

/**
 * A shard as the control plane of links works with it.
 *
 * @param loop its thread, which takes commands
 * @param rails its completion queues
 */
public record LinkShard(ShardLoop loop, ShardRails rails) {}
