package io.farpage.verbs.soft;

/** What a responder does while it has no request. */
public enum IdleStrategy {
    /** Asks for one again and again once the first has come: the lowest latency, for the price of a CPU. */
    SPIN,
    /** Sleeps until one comes. */
    BLOCK,
    /** Spins for a bounded time, then sleeps. */
    ADAPTIVE
}
