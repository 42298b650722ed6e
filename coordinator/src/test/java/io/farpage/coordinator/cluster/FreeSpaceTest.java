package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
        return FreeSpace.of(
                Node.of("a", Fixture.node(incarnation, POOL), Instant.EPOCH), new Draft(with.ledger.state()));
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

    @Test
    void shouldRefuseAChangeThatGivesBytesToTwoExtents() {
        with.membership.register("a", Fixture.node(1, POOL));
        Space space = with.spaces.create(SpaceRequest.of("vm", 5 * PAGE));
        Space other = with.spaces.create(SpaceRequest.of("other", PAGE));
        State before = with.ledger.state();
        for (Extent overlapping : List.of(extent(0, 1, 0), extent(0, 1, 4 * PAGE), extent(0, 2, 4 * PAGE))) {
            IllegalStateException refused = assertThrows(
                    IllegalStateException.class,
                    () -> with.ledger.change(draft -> {
                        draft.extents.remove(other);
                        draft.extents.create(other, List.of(overlapping));
                        return space;
                    }));
            assertTrue(refused.toString().contains("of the pool of node 'a' would be in use twice"));
            assertEquals(before, with.ledger.state());
        }
    }

    @Test
    void shouldTakeRangesFromTheMiddleAndTheEndsOfGaps() {
        with.membership.register("a", Fixture.node(1, POOL));
        FreeSpace room = room(1);
        room.take(2 * PAGE, PAGE);
        room.take(0, PAGE);
        room.take(7 * PAGE, PAGE);
        assertEquals(List.of(new FreeSpace.Gap(PAGE, PAGE), new FreeSpace.Gap(3 * PAGE, 4 * PAGE)), room.gaps(PAGE));
        assertEquals(5 * PAGE, room.freeBytes());
        assertThrows(IllegalStateException.class, () -> room.take(2 * PAGE, PAGE));
        assertThrows(IllegalStateException.class, () -> room.take(PAGE, 2 * PAGE));
        assertThrows(IllegalStateException.class, () -> room.take(POOL, PAGE));
    }

    private static Extent extent(long firstPage, long count, long offset) {
        return new Extent(firstPage, count, List.of(new ExtentHome("a", new Incarnation(1), offset)), ExtentState.OK);
    }
}
