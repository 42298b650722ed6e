package io.farpage.agent.data.shard;

/** The state of a shard's link to a peer. */
public enum LinkPhase {
    /** No queue pair. */
    DOWN,
    /** Connected. The peer's pool header is being read to verify its node id and incarnation. */
    VERIFYING,
    /** Transfers may be posted. */
    UP,
    /**
     * Nothing is posted until all outstanding work has completed; then a queue pair over a better transport replaces
     * this one.
     */
    SWITCHING,
    /** The queue pair has failed or is being removed; its outstanding work requests are being flushed. */
    DRAINING
}
