/**
 * The data plane: a {@link io.farpage.agent.data.shard.Shard} is one thread's duty cycle over the queue pairs and
 * completion queues that it alone owns. Page sources ({@link io.farpage.agent.data.shard.DutyCycle}s) ask a
 * {@link io.farpage.agent.data.shard.Fetcher} for pages and poll it for what has arrived; all requests of one duty
 * cycle are posted with one doorbell per link. Beside transfers, shards send each other messages: a
 * {@link io.farpage.agent.data.shard.MessageListener} gets a {@link io.farpage.agent.data.shard.MessageChannel} for
 * each peer.
 *
 * <p>Data flows one way: source → fetcher → link → verbs → completion → fetcher → source. No class of the package
 * locks, calls the coordinator, allocates or logs while pages move; the control plane talks to a shard through two
 * queues, commands in and notices out.
 */
@NullMarked
package io.farpage.agent.data.shard;

import org.jspecify.annotations.NullMarked;
