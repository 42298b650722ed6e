package io.farpage.agent.link;

import io.farpage.verbs.QpOptions;
import java.time.Duration;

/**
 * How links are made.
 *
 * @param queuePairs sizes and attributes of their queue pairs
 * @param grace how long the node with the larger id leaves it to the other one to start
 * @param firstBackoff pause after the first failure; doubles with each further one
 * @param longestBackoff bound of that
 * @param rdmaPause how long a link goes without RDMA after it failed over RDMA
 */
public record LinkOptions(
        QpOptions queuePairs, Duration grace, Duration firstBackoff, Duration longestBackoff, Duration rdmaPause) {

    /** Shards that a node may have. */
    public static final int MAX_SHARDS = 16;

    /** Backoff of 50 ms to 2 s; 5 s without RDMA after it failed. */
    public static LinkOptions of(QpOptions queuePairs, Duration grace) {
        return new LinkOptions(queuePairs, grace, Duration.ofMillis(50), Duration.ofSeconds(2), Duration.ofSeconds(5));
    }
}
