package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.SpaceRequest;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class PlacementTest {
    private static final int PAGE = 4096;

    private final Fixture with = new Fixture();

    private List<Extent> placed(long pages, int replicas) {
        with.spaces.create(
                new SpaceRequest("vm", pages * PAGE, OptionalInt.empty(), Optional.empty()).withReplicas(replicas));
        return with.spaces.extents("vm").extents();
    }

    private void homes(long pages, String... nodes) {
        for (String node : nodes) {
            with.membership.register(node, Fixture.node(10 + node.charAt(1), pages * PAGE));
        }
    }

    @Test
    void shouldKeepASmallSpaceInOneExtent() {
        homes(1 << 20, "h1");
        assertEquals(1, placed(Placement.LEAST_PAGES, 1).size());
    }

    @Test
    void shouldDivideALargeSpaceIntoExtentsThatLieOneAfterTheOther() {
        homes(1 << 20, "h1", "h2", "h3");
        List<Extent> extents = placed(200_000, 2);
        assertTrue(extents.size() > 48 && extents.size() <= Placement.EXTENTS, extents.size() + " extents");
        assertEquals(
                1,
                extents.stream()
                        .map(extent ->
                                extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet()))
                        .distinct()
                        .count(),
                "one group of homes");
        long next = 0;
        long at = extents.getFirst().primary().offset();
        for (Extent extent : extents) {
            assertEquals(next, extent.firstPage());
            for (ExtentHome home : extent.homes()) {
                assertEquals(at + next * PAGE, home.offset());
            }
            next += extent.count();
        }
        assertEquals(200_000, next);
        assertTrue(
                extents.stream().limit(extents.size() - 1L).allMatch(extent -> extent.count() % 512 == 0),
                "whole blocks of heat");
    }

    @Test
    void shouldFillOneHomeBeforeTheNext() {
        homes(4 * 1024, "h1", "h2");
        List<Extent> extents = placed(6 * 1024, 1);
        assertEquals(
                List.of("h1", "h1", "h1", "h1", "h2", "h2"),
                extents.stream().map(extent -> extent.primary().node()).toList());
        assertEquals(Set.of(1024L), extents.stream().map(Extent::count).collect(Collectors.toSet()));
    }
}
