package io.farpage.agent.pager;

import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.space.SpaceMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Where the pages of a guest's space live, as its shard reaches them. Looking up allocates nothing; a new map does. */
final class Homes {
    private final String node;
    private final long incarnation;
    private final Supplier<SpaceMap> maps;
    private final Function<String, PeerLink> links;
    private SpaceMap map;
    private @Nullable PeerLink[] link;

    /**
     * @param node this node, and its incarnation: pages that live here need no link
     * @param maps where the pages live as far as is known at the moment
     */
    Homes(String node, long incarnation, Supplier<SpaceMap> maps, Function<String, PeerLink> links) {
        this.node = node;
        this.incarnation = incarnation;
        this.maps = maps;
        this.links = links;
        this.map = maps.get();
        this.link = linksOf(map);
    }

    private @Nullable PeerLink[] linksOf(SpaceMap of) {
        @Nullable PeerLink[] all = new PeerLink[of.extents()];
        for (int extent = 0; extent < all.length; extent++) {
            all[extent] = of.node(extent).equals(node) ? null : links.apply(of.node(extent));
        }
        return all;
    }

    /** Looks whether the map has changed. */
    void refresh() {
        SpaceMap latest = maps.get();
        if (latest != map) {
            link = linksOf(latest);
            map = latest;
        }
    }

    int extent(int page) {
        return map.extent(page);
    }

    /** Whether the pages of an extent are gone with their home. */
    boolean isLost(int extent) {
        return map.isLost(extent) || (link[extent] == null && map.incarnation(extent) != incarnation);
    }

    /** Whether the pages of all extents are gone with their homes. */
    boolean areLost() {
        for (int extent = 0; extent < map.extents(); extent++) {
            if (!isLost(extent)) {
                return false;
            }
        }
        return true;
    }

    /** Link to the home, or null if the pages live on this node. */
    @Nullable
    PeerLink link(int extent) {
        return link[extent];
    }

    long incarnation(int extent) {
        return map.incarnation(extent);
    }

    /** Where a page starts within the home's exported frames, bytes. */
    long offset(int extent, int page) {
        return map.offset(extent, page);
    }

    /** How many of {@code count} pages from {@code page} on live one after the other in an extent. */
    int contiguous(int extent, int page, int count) {
        long end = extent + 1 < map.extents() ? map.firstPage(extent + 1) : map.pages();
        return (int) Math.min(count, end - page);
    }

    /** Name of the node that an extent lives on, for messages. */
    String home(int extent) {
        return map.node(extent);
    }
}
