package io.farpage.agent.data.pager.home;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The homes that join extents of one map, as one pager sees them. The shard's thread only, but for {@link #progress}.
 * Lookups allocate nothing; a new map does.
 */
public final class JoiningHomes {
    private @Nullable Joining[] byExtent = {};
    private final List<Joining> all = new ArrayList<>(0);
    private volatile List<CopyProgress> progress = List.of();

    /** Names the homes of a map. */
    interface Naming {
        /** The home that is a pool of a node; null for this node. */
        @Nullable
        Home name(String node, long pool);
    }

    /**
     * Follows a new map. A home that joins the same extent as before stays as far as it has come.
     *
     * @param homeOf {@link Naming} of the pools that join
     */
    void follow(SpaceMap map, Naming homeOf, long now) {
        List<Joining> before = List.copyOf(all);
        all.clear();
        byExtent = new Joining[map.isMirrored() ? map.extents() : 0];
        for (int extent = 0; extent < byExtent.length; extent++) {
            SpaceMap.Copy joins = map.joining(extent);
            if (joins != null) {
                Home home = homeOf.name(joins.node(), joins.incarnation());
                Joining joining = same(before, map, extent, joins, now);
                if (joining == null) {
                    long end = extent + 1 < map.extents() ? map.firstPage(extent + 1) : map.pages();
                    joining = new Joining(map, extent, (int) end, joins, home, now);
                }
                byExtent[extent] = joining;
                all.add(joining);
            }
        }
        progress = all.stream().map(Joining::progress).toList();
    }

    /** How far each has come. Any thread. */
    public List<CopyProgress> progress() {
        return progress;
    }

    private static @Nullable Joining same(
            List<Joining> before, SpaceMap map, int extent, SpaceMap.Copy joins, long now) {
        for (Joining known : before) {
            if (known.continues(map, extent, joins, now)) {
                return known;
            }
        }
        return null;
    }

    /** The home that joins an extent, or null. */
    @Nullable
    public Joining of(int extent) {
        return byExtent.length == 0 ? null : byExtent[extent];
    }

    public int count() {
        return all.size();
    }

    public Joining at(int index) {
        return all.get(index);
    }
}
