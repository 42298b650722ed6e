package io.farpage.agent.data.shard;

/** What a thread of the data plane does when there is nothing to do. */
public enum IdleStrategy {
    /** Looks again at once, as long as a page is awaited or a source asks for it. Takes a whole CPU; the shortest latency when it has one. */
    SPIN,
    /** Looks again for a bounded time, then sleeps until a file descriptor wakes it. */
    ADAPTIVE,
    /** Sleeps at once until a file descriptor wakes it. Best when both ends share a CPU. */
    BLOCK
}
