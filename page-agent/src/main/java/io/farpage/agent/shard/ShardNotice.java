package io.farpage.agent.shard;

import io.farpage.verbs.QueuePair;

/** What a shard tells the control plane. */
public sealed interface ShardNotice {
    PeerLink link();

    long attempt();

    /** The peer proved to be who the coordinator said; pages move. */
    record Up(PeerLink link, long attempt) implements ShardNotice {}

    /** The queue pair is no longer used by the shard and has nothing outstanding: close it. */
    record Released(PeerLink link, long attempt, QueuePair queuePair, String reason) implements ShardNotice {}
}
