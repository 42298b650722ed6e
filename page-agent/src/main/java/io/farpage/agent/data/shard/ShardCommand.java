package io.farpage.agent.data.shard;

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

    /**
     * The queue pair of {@code attempt}, which {@link ShardNotice.Released} named, is destroyed: nothing reads or writes memory on its
     * behalf any more, so its transfers may be posted again.
     */
    record Destroyed(PeerLink link, long attempt) implements ShardCommand {}

    /**
     * Has {@code link} use the queue pair of {@code trial}, which is up, once nothing is outstanding on its own, and {@code trial} keep
     * the old one. {@link ShardNotice.Switched} says that it is done. If either is not in a state for it, the command does nothing.
     */
    record Switch(PeerLink link, PeerLink trial) implements ShardCommand {}

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
