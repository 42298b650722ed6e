package io.farpage.agent.data.shard;

import java.util.concurrent.CompletableFuture;

/** A command of the control plane. The shard's thread carries commands out in order. */
public sealed interface ShardCommand {
    /** A peer has granted other ranges of its exported frames than before. */
    record Grant(PeerLink link, PeerGrants grants) implements ShardCommand {}

    /** Installs a queue pair in RTS. The shard owns it until {@link ShardNotice.Released}. */
    record Install(PeerLink link, Connection connection) implements ShardCommand {}

    /** Removes the queue pair of {@code attempt}. Without one the command does nothing. */
    record Remove(PeerLink link, long attempt, String reason) implements ShardCommand {}

    /**
     * The queue pair of {@code attempt}, which {@link ShardNotice.Released} named, is destroyed: it no longer accesses
     * memory, so its transfers may be posted again.
     */
    record Destroyed(PeerLink link, long attempt) implements ShardCommand {}

    /**
     * Makes {@code link} use the queue pair of {@code trial}, which is up, once nothing is outstanding on its own, and
     * {@code trial} keep the old one. {@link ShardNotice.Switched} confirms it. If one of them is in the wrong state,
     * the command does nothing.
     */
    record Switch(PeerLink link, PeerLink trial) implements ShardCommand {}

    /**
     * Messages are wanted on a link, on its queue pair and each later one: {@link MessageListener#onOpened} says when
     * they may be sent. The peer may want them as well.
     */
    record OpenMessages(PeerLink link) implements ShardCommand {}

    /**
     * Messages are no longer wanted on later queue pairs of a link. A channel that is open stays so until its queue
     * pair is gone, since the peer may use it.
     */
    record CloseMessages(PeerLink link) implements ShardCommand {}

    /** Adds a device's completion queue. */
    record AddRail(Rail rail) implements ShardCommand {}

    /**
     * Removes a device's completion queue, on which the shard no longer has a queue pair, and completes {@code done}.
     */
    record RemoveRail(Rail rail, CompletableFuture<Void> done) implements ShardCommand {}

    /**
     * A device's completion queue has failed, as an event of the device says: as if polling it had failed. Unless it is
     * removed.
     */
    record FailRail(Rail rail, String cause) implements ShardCommand {}

    /** Adds a source of transfers. */
    record AddCycle(DutyCycle cycle) implements ShardCommand {}

    /** Removes a source of transfers. */
    record RemoveCycle(DutyCycle cycle) implements ShardCommand {}

    /** Runs a task on the shard's thread. */
    record Run(Runnable task) implements ShardCommand {}
}
