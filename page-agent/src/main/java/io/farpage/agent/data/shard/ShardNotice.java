package io.farpage.agent.data.shard;

import io.farpage.verbs.QueuePair;

/** What a shard tells the control plane. */
public sealed interface ShardNotice {
    /** The peer proved to be who the coordinator said; pages move. */
    record Up(PeerLink link, long attempt) implements ShardNotice {}

    /**
     * The shard posts nothing on the queue pair any more: destroy it and then say {@link ShardCommand.Destroyed}. Until then its transfers
     * wait, since the device may still use their memory.
     *
     * @param refused whether the peer, or the device, found a request wrong in itself, so that the next queue pair fails as well
     */
    record Released(PeerLink link, long attempt, QueuePair queuePair, String reason, boolean refused)
            implements ShardNotice {}

    /** The link uses the queue pair of {@code attempt}, which the trial had before. */
    record Switched(PeerLink link, PeerLink trial, long attempt) implements ShardNotice {}

    /** A device's completion queue failed. The shard polls it no more and has given up its links. */
    record RailFailed(Rail rail, String reason) implements ShardNotice {}
}
