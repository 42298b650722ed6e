package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.verbs.QpOptions;
import java.time.Duration;

/**
 * Settings of links.
 *
 * @param queuePairs sizes and attributes of their queue pairs
 * @param max peers that the node is linked with at once
 * @param grace how long the node with the larger id waits for the node with the smaller id to start the link
 * @param firstBackoff pause after the first failure; doubles with each further one
 * @param longestBackoff the longest pause. A link that comes up ends the series; after a refusal it must stay up for
 *     longer than this
 * @param rdmaPause how long a link goes without RDMA after it failed over RDMA; doubles with each further failure
 * @param longestRdmaPause the longest such pause; RDMA that works for longer ends the series
 * @param trialTimeout how long RDMA may take to be proved beside a link over TCP
 * @param allowed the peers that there are links with
 * @param mode which of them the node brings up
 */
public record LinkOptions(
        QpOptions queuePairs,
        int max,
        Duration grace,
        Duration firstBackoff,
        Duration longestBackoff,
        Duration rdmaPause,
        Duration longestRdmaPause,
        Duration trialTimeout,
        AllowedPeers allowed,
        LinkMode mode) {

    /** Shards that a node may have. */
    public static final int MAX_SHARDS = 16;

    /** Links for which a better transport is tried at once; each takes as many queue pairs as a link meanwhile. */
    public static final int TRIALS = 8;

    /**
     * Backoff of 50 ms to 2 s; {@code rdmaPause} to 5 min without RDMA after it failed; 30 s for a trial; links with
     * all peers.
     */
    public static LinkOptions of(QpOptions queuePairs, int max, Duration grace, Duration rdmaPause) {
        return new LinkOptions(
                queuePairs,
                max,
                grace,
                Duration.ofMillis(50),
                Duration.ofSeconds(2),
                rdmaPause,
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                AllowedPeers.ALL,
                LinkMode.MESH);
    }

    /** The same with links to {@code only} these peers. */
    public LinkOptions withAllowed(AllowedPeers only) {
        return with(only, mode);
    }

    /** The same with the links of another mode. */
    public LinkOptions withMode(LinkMode other) {
        return with(allowed, other);
    }

    private LinkOptions with(AllowedPeers only, LinkMode links) {
        return new LinkOptions(
                queuePairs,
                max,
                grace,
                firstBackoff,
                longestBackoff,
                rdmaPause,
                longestRdmaPause,
                trialTimeout,
                only,
                links);
    }

    /** The most queue pairs of a shard on one device as the requester of links: one for each link and each trial. */
    public int queuePairsOfAShard() {
        return max + TRIALS;
    }

    /**
     * The most completions that all queue pairs of one shard on one device may have outstanding. A peer with more
     * shards than this node has queue pairs beyond the shard's own, which post nothing and count one send and one
     * receive each.
     *
     * @param messages of the shard
     */
    public int completionsOfAShard(MessageMemory messages) {
        QpOptions.Sizes sizes = messages.sizeFor(queuePairs).sizes();
        return queuePairsOfAShard() * (sizes.maxSendWr() + sizes.maxRecvWr() + 2 * (MAX_SHARDS - 1));
    }
}
