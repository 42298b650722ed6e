package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameShares;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Where pages come from and go to.
 *
 * @param node this node
 * @param incarnation this node's pool, as extents name it
 * @param map the latest map of the space
 * @param links the shard's side of the link to a node
 * @param fetcher for this pager alone
 * @param pool staging frames, and the pages that live on this node
 * @param shares how pagers divide the staging frames
 * @param mirroring of pages that have several homes
 * @param victims memory for evicted pages, shared with other pagers
 */
public record PagerBacking(
        String node,
        long incarnation,
        Supplier<SpaceMap> map,
        Function<String, PeerLink> links,
        Fetcher fetcher,
        PagePool pool,
        FrameShares shares,
        Mirroring mirroring,
        VictimMemory victims) {
    /** Without memory for evicted pages. */
    public PagerBacking(
            String node,
            long incarnation,
            Supplier<SpaceMap> map,
            Function<String, PeerLink> links,
            Fetcher fetcher,
            PagePool pool,
            FrameShares shares,
            Mirroring mirroring) {
        this(node, incarnation, map, links, fetcher, pool, shares, mirroring, VictimMemory.NONE);
    }

    /** For pages that have one home each. */
    public PagerBacking(
            String node,
            long incarnation,
            Supplier<SpaceMap> map,
            Function<String, PeerLink> links,
            Fetcher fetcher,
            PagePool pool) {
        this(node, incarnation, map, links, fetcher, pool, pool.stagingShares(), Mirroring.NONE);
    }
}
