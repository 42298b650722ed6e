package io.farpage.agent.data.shard;

/** What a transfer may wait for. */
public enum Priority {
    /** A thread waits for the bytes, and the transfer only for space in the send queue. */
    DEMAND,
    /**
     * Readahead, write-back and copies. They wait while {@link PeerLink#BULK_WINDOW} bytes of them are under way to the
     * peer, so that a fault does not wait behind more.
     */
    BULK
}
