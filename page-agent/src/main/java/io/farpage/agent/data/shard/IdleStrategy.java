package io.farpage.agent.data.shard;

/** How a thread of the data plane waits for work. */
public enum IdleStrategy {
    /**
     * Spins while a transfer is under way or a source asks for it. Takes a whole CPU, and has the shortest latency if
     * it gets one.
     */
    SPIN,
    /** Spins for a bounded time, then sleeps until a file descriptor wakes it. */
    ADAPTIVE,
    /** Sleeps at once until a file descriptor wakes it. Best when both ends share a CPU. */
    BLOCK
}
