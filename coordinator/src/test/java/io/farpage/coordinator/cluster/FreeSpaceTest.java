package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.Node;
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
}
