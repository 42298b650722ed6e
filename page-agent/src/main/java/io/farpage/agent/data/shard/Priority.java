package io.farpage.agent.data.shard;

/** What a transfer's bytes may wait for. */
public enum Priority {
    /** A thread waits for them: nothing but the send queue holds them up. */
    DEMAND,
    /** Readahead, write-back and copies. Only so many bytes of them are under way to a peer, so that a fault does not
     * wait behind more. */
    BULK
}
