package io.farpage.agent.data.shard;

/** What a shard may do with its queue pair to a peer. */
public enum LinkPhase {
    /** No queue pair. */
    DOWN,
    /** Connected; the peer's pool header is being read to see whether it is who the coordinator said. */
    VERIFYING,
    /** Pages move. */
    UP,
    /** Nothing is posted until what is outstanding has completed; then a queue pair over a better transport takes over. */
    SWITCHING,
    /** The queue pair failed or is being given up; its outstanding work requests are being collected. */
    DRAINING
}
