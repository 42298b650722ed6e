package io.farpage.agent.shard;

import io.farpage.verbs.QueuePair;
import java.util.concurrent.CompletableFuture;

/** What the control plane tells a shard. Carried out by the shard's thread, in order. */
public sealed interface ShardCommand {
    /** Tells the shard which incarnation of a peer the coordinator knows: pages of any other are lost. 0 for a peer that is gone. */
    record SetIncarnation(PeerLink link, long incarnation) implements ShardCommand {}

    /** Gives the shard a queue pair in RTS. The shard owns it until it says {@link ShardNotice.Released}. */
    record Attach(PeerLink link, QueuePair queuePair, Rail rail, long incarnation, PeerMemory memory, long attempt)
            implements ShardCommand {}

    /** Asks for the queue pair of {@code attempt} back. Without one the command does nothing. */
    record Detach(PeerLink link, long attempt, String reason) implements ShardCommand {}

    /** Adds a device's completion queue. */
    record AddRail(Rail rail) implements ShardCommand {}

    /** Takes a device's completion queue out, none of whose queue pairs the shard has any more, and completes {@code done}. */
    record RemoveRail(Rail rail, CompletableFuture<Void> done) implements ShardCommand {}

    /** Adds a source of fetches. */
    record AddCycle(DutyCycle cycle) implements ShardCommand {}

    /** Removes a source of fetches. */
    record RemoveCycle(DutyCycle cycle) implements ShardCommand {}

    /** Runs a task on the shard's thread. */
    record Run(Runnable task) implements ShardCommand {}
}
