package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which ranges of a pool are registered for a space. */
final class PoolRangesTest {
    private static final Incarnation POOL = new Incarnation(1);
    private static final long GIB = 1L << 30;

    /** Extents of 1 GiB, one behind the other in the pool. */
    private static List<PoolRange> ranges(int extents) {
        List<Extent> all = IntStream.range(0, extents)
                .mapToObj(i -> new Extent(
                        i * (GIB / 4096), GIB / 4096, List.of(new ExtentHome("home", POOL, i * GIB)), ExtentState.OK))
                .toList();
        Space space = new Space(1, "one", extents * GIB, 4096, ExtentState.OK, Instant.EPOCH, false);
        return PoolRanges.of(new SpaceExtents(space, 10, all), "home", POOL);
    }

    @Test
    void shouldListExtentsApart() {
        assertEquals(130, ranges(130).size());
    }

    @Test
    void shouldJoinManyExtentsUpToALengthThatIsPinnedAtOnce() {
        List<PoolRange> joined = PoolRanges.join(ranges(130));
        assertEquals(9, joined.size());
        assertEquals(new PoolRange(0, PoolRanges.MAX_JOINED), joined.getFirst());
        assertEquals(new PoolRange(128 * GIB, 2 * GIB), joined.getLast());
    }
}
