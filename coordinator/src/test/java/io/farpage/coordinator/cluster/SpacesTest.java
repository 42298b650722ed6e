package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class SpacesTest {

    private final Fixture with = new Fixture();

    @Test
    void shouldTakeFromTheNodeWithMostRoomFirstAndGoOnToTheNext() {
        with.membership.register("small", Fixture.node(1, 8 * 4096));
        with.membership.register("large", Fixture.node(2, 16 * 4096));
        with.spaces.create(SpaceRequest.of("vm", 20 * 4096));
        List<Extent> extents = with.spaces.extents("vm").extents();
        assertEquals(
                List.of("large", "small"),
                extents.stream().map(e -> e.primary().node()).toList());
        assertEquals(List.of(16L, 4L), extents.stream().map(Extent::count).toList());
    }

    @Test
    void shouldNameFreeBytesOfEachNodeAndAllocateNothingWithoutRoom() {
        with.membership.register("a", Fixture.node(1, 8192));
        with.membership.register("b", Fixture.node(2, 4096));
        State before = with.ledger.state();
        ProblemException refused =
                assertThrows(ProblemException.class, () -> with.spaces.create(SpaceRequest.of("vm", 16384)));
        assertEquals(507, refused.problem("").status());
        assertTrue(String.valueOf(refused.getMessage()).contains("a has 8192, b has 4096"), refused::getMessage);
        assertEquals(before, with.ledger.state());
    }

    @Test
    void shouldNotTakeFromNodesThatAreNotActive() {
        with.membership.register("a", Fixture.node(1, 8192).withStatus(NodeStatus.LEAVING));
        assertThrows(ProblemException.class, () -> with.spaces.create(SpaceRequest.of("vm", 4096)));
        ProblemException refused = assertThrows(
                ProblemException.class,
                () -> with.spaces.create(new SpaceRequest("vm", 4096, OptionalInt.empty(), Optional.of(List.of("a")))));
        assertTrue(refused.problem("").is("home-not-active"));
    }

    @Test
    void shouldFreeExtentsOfDeletedSpaceOnlyWhenTheirHomeZeroedThem() throws InterruptedException {
        with.membership.register("a", Fixture.node(1, 8192));
        with.spaces.create(SpaceRequest.of("one", 8192));
        with.spaces.delete("one", false);
        assertThrows(ProblemException.class, () -> with.spaces.create(SpaceRequest.of("two", 4096)));
        List<Release> releases = with.zeroable("a");
        assertEquals(8192, releases.getFirst().length());
        assertTrue(releases.getFirst().deleted());
        assertThrows(
                ProblemException.class,
                () -> with.zeroed(
                        "a", new Incarnation(7), List.of(releases.getFirst().id())));
        List<Long> zeroed = List.of(releases.getFirst().id(), 999L);
        with.zeroed("a", new Incarnation(1), zeroed);
        with.zeroed("a", new Incarnation(1), zeroed);
        with.spaces.create(SpaceRequest.of("two", 8192));
        List<Event> events =
                with.ledger.events().after(0, Duration.ZERO, EventFilter.ALL).events();
        assertTrue(events.stream()
                .anyMatch(
                        e -> e.kind() == EventKind.RELEASES_PENDING && e.node().equals(Optional.of("a"))));
    }

    @Test
    void shouldFindThePageOfAnAddressAndItsHeat() {
        with.membership.register("a", Fixture.node(1, 64 * 4096));
        with.spaces.create(SpaceRequest.of("first", 4 * 4096));
        long id = with.spaces.create(SpaceRequest.of("vm", 8 * 4096)).id();
        PageInfo page = with.spaces.page("vm", 3 * 4096 + 17);
        assertEquals(3, page.page());
        assertEquals(3 * 4096, page.gpa().value());
        assertEquals(7 * 4096, page.homes().getFirst().offset());
        assertEquals(0, page.heat());
        assertEquals(page, with.spaces.page(Long.toString(id), 3 * 4096));
        assertThrows(ProblemException.class, () -> with.spaces.page("vm", 8 * 4096));
        assertThrows(ProblemException.class, () -> with.spaces.page("vm", -1));
    }

    @Test
    void shouldReplaceHeatWhereReportsOverlap() {
        Heat heat = new Heat(System::nanoTime);
        heat.report(1, new HeatReport(List.of(new HeatReport.Range(0, 100, 5))));
        heat.report(1, new HeatReport(List.of(new HeatReport.Range(40, 20, 9), new HeatReport.Range(90, 20, 7))));
        heat.report(1, new HeatReport(List.of(new HeatReport.Range(55, 40, 1))));
        assertEquals(5, heat.of(1, 0));
        assertEquals(5, heat.of(1, 39));
        assertEquals(9, heat.of(1, 40));
        assertEquals(9, heat.of(1, 54));
        assertEquals(1, heat.of(1, 55));
        assertEquals(1, heat.of(1, 94));
        assertEquals(7, heat.of(1, 95));
        assertEquals(7, heat.of(1, 109));
        assertEquals(0, heat.of(1, 110));
        assertEquals(0, heat.of(2, 0));
    }
}
