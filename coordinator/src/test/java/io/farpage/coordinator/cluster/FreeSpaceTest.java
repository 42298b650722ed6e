package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What of a node's pool counts as free. */
final class FreeSpaceTest {
    private static final int PAGE = 4096;
    private static final long POOL = 8 * PAGE;

    private final Fixture with = new Fixture();

    private FreeSpace room(long incarnation) {
        return FreeSpace.of(Node.of("a", Fixture.node(incarnation, POOL), Instant.EPOCH), with.ledger.state());
    }

    @Test
    void shouldCountExtentsOfTheSameIncarnationAsUsed() {
        with.membership.register("a", Fixture.node(1, POOL));
        with.spaces.create(SpaceRequest.of("vm", 3 * PAGE));
        assertEquals(List.of(new FreeSpace.Gap(3 * PAGE, 5 * PAGE)), room(1).gaps(PAGE));
    }

    @Test
    void shouldCountExtentsOfAnEarlierIncarnationAsFree() {
        with.membership.register("a", Fixture.node(1, POOL));
        with.spaces.create(SpaceRequest.of("vm", 3 * PAGE));
        assertEquals(List.of(new FreeSpace.Gap(0, POOL)), room(2).gaps(PAGE));
    }

    @Test
    void shouldCountReleasesOfAnEarlierIncarnationAsFree() {
        with.membership.register("a", Fixture.node(1, POOL));
        with.spaces.create(SpaceRequest.of("vm", 3 * PAGE));
        with.spaces.delete("vm", false);
        assertEquals(5 * PAGE, room(1).freeBytes());
        assertEquals(POOL, room(2).freeBytes());
    }

    /** A damaged store may have overlapping extents. No byte that any of them claims is free. */
    @Test
    void shouldCountNoByteAsFreeThatAnyOfSeveralOverlappingExtentsHas() {
        with.membership.register("a", Fixture.node(1, POOL));
        Space space = with.spaces.create(SpaceRequest.of("vm", 5 * PAGE));
        with.ledger.change(draft -> {
            draft.extents.remove(space);
            draft.extents.create(space, List.of(extent(0, 4, 0), extent(4, 1, PAGE), extent(5, 1, 0)));
            return space;
        });
        assertEquals(List.of(new FreeSpace.Gap(4 * PAGE, 4 * PAGE)), room(1).gaps(PAGE));
    }

    private static Extent extent(long firstPage, long count, long offset) {
        return new Extent(firstPage, count, List.of(new ExtentHome("a", new Incarnation(1), offset)), ExtentState.OK);
    }
}
