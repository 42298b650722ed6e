package io.farpage.agent.data.mount;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import org.jspecify.annotations.Nullable;

/**
 * Which pages of a space its homes have, in runs that one transfer can move.
 *
 * @param presence null if the homes may have all
 */
public record PresentRuns(@Nullable PresenceMap presence) {
    /** Whether a page is known as zeros. */
    public boolean isZeros(long page) {
        return presence != null && presence.get((int) page) == PresenceMap.ZERO;
    }

    /** The end of pages of one extent, from {@code page} on, that are all zeros or all not; {@code most} at most. */
    public long end(SpaceMap map, long page, long most) {
        int next = map.extent(page) + 1;
        long end = next < map.extents() ? Math.min(most, map.firstPage(next)) : most;
        if (presence == null) {
            return end;
        }
        boolean zeros = isZeros(page);
        long same = page + 1;
        while (same < end && isZeros(same) == zeros) {
            same++;
        }
        return same;
    }
}
