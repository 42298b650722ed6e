package io.farpage.agent.data.shard;

import io.farpage.verbs.QueuePair;

/** A notice of a shard to the control plane. */
public sealed interface ShardNotice {
    /** The peer's node id and incarnation are verified; the link is up. */
    record Up(PeerLink link, long attempt) implements ShardNotice {}

    /**
     * The shard no longer posts on the queue pair: destroy it and then send {@link ShardCommand.Destroyed}. Until then
     * its transfers wait, since the device may still access their memory.
     *
     * @param refused whether the peer or the device found a request wrong, so that the next queue pair would fail as
     *     well
     */
    record Released(PeerLink link, long attempt, QueuePair queuePair, String reason, boolean refused)
            implements ShardNotice {}

    /** The link uses the queue pair of {@code attempt}, which the trial had before. */
    record Switched(PeerLink link, PeerLink trial, long attempt) implements ShardNotice {}

    /**
     * The peer has refused the key that it granted for the byte at {@code offset} of its exported frames. The shard no
     * longer uses that key; another grant may replace it.
     *
     * @param incarnation of the peer
     * @param rkey that was refused; the peer may have granted another one since
     */
    record GrantRefused(PeerLink link, long incarnation, long offset, int rkey) implements ShardNotice {}

    /** A device's completion queue has failed. The shard no longer polls it and has failed its links. */
    record RailFailed(Rail rail, String reason) implements ShardNotice {}
}
