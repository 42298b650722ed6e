package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.CoherentFigures;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.DirectoryFigures.Bouncing;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.GuestFigures;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeFigures;
import io.farpage.coordinator.model.PageMap;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.rest.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Reports of figures through the real client and server, and what is shown of them. */
@Tag("portable")
class FiguresRestTest {
    private static final int PAGES = 256;
    private static final FaultFigures FAULTS = new FaultFigures(50, 40, 9_000, 80_000, 7_000, 60_000);
    private static final GuestPages WHERE = new GuestPages(PAGES, 64, 64, 32, 128, 64, 0, 0);

    private final Running running;
    private long space;

    FiguresRestTest(@TempDir Path directory) {
        running = new Running(directory);
    }

    @BeforeEach
    void attach() throws CoordinatorException {
        running.client.register("a", Fixture.node(1, 0));
        running.client.register("b", Fixture.node(2, 4 << 20, "127.0.0.1:7411"));
        space = make("vm1");
        running.client.attach("vm1", "a", new AttachRequest(new Incarnation(1), AttachMode.EXCLUSIVE));
        make("vm2");
    }

    private long make(String name) throws CoordinatorException {
        return running.client
                .createSpace(new SpaceRequest(name, PAGES * 4096L, OptionalInt.of(4096), Optional.of(List.of("b"))))
                .id();
    }

    @AfterEach
    void close() {
        running.close();
    }

    private static FiguresReport report(long incarnation, FiguresReport.Guest... guests) {
        return new FiguresReport(new Incarnation(incarnation), 5_000, FAULTS, List.of(guests));
    }

    private static FiguresReport.Guest guest(long id, Optional<PageMap> map) {
        return new FiguresReport.Guest(id, WHERE, FAULTS, OptionalLong.empty(), map);
    }

    @Test
    void shouldShowWhatANodeReports() throws Exception {
        running.client.reportFigures("a", report(1, guest(space, Optional.empty())));
        NodeFigures nodes = running.client.call(ViewOperations.FIGURES_OF_NODES.at());
        assertEquals(
                List.of("a"),
                nodes.nodes().stream().map(NodeFigures.OfNode::node).toList());
        assertEquals(List.of(10.0), nodes.nodes().getFirst().history().faultsPerSecond());
        assertEquals(List.of(80_000L), nodes.nodes().getFirst().history().faultP99Ns());
        assertTrue(nodes.since() <= nodes.now());
        GuestFigures.OfGuest guest = running.client
                .call(ViewOperations.FIGURES_OF_GUESTS.at())
                .guests()
                .getFirst();
        assertEquals("vm1", guest.space());
        assertEquals("a", guest.node());
        assertEquals(WHERE, guest.pages());
        assertEquals(List.of(60_000L), guest.history().fetchP99Ns());
        assertEquals(0, shown("/api/v1/figures/guests?prefix=x").get("guests").size());
        assertEquals(0, shown("/api/v1/figures/nodes?limit=0").get("nodes").size());
        JsonNode unseen = shown("/api/v1/figures/nodes?since=" + nodes.now());
        assertEquals(0, unseen.at("/nodes/0/history/at").size(), unseen.toString());
        assertEquals(
                400, running.send("GET", "/api/v1/figures/nodes?since=x", "").statusCode());
    }

    @Test
    void shouldEmitAnEventWhenAGuestIsParkedAndUnparked() throws Exception {
        long before = events().getLast().index();
        running.client.reportFigures("a", report(1, guest(space, Optional.empty())));
        running.client.reportFigures("a", report(1, parked(1_750_000_000)));
        running.client.reportFigures("a", report(1, parked(1_750_000_000)));
        assertEquals(
                OptionalLong.of(1_750_000_000),
                running.client
                        .call(ViewOperations.FIGURES_OF_GUESTS.at())
                        .guests()
                        .getFirst()
                        .parkedSince());
        running.client.reportFigures("a", report(1, guest(space, Optional.empty())));
        List<Event> since =
                events().stream().filter(event -> event.index() > before).toList();
        assertEquals(
                List.of(EventKind.GUEST_PARKED, EventKind.GUEST_UNPARKED),
                since.stream().map(Event::kind).toList());
        assertEquals(Optional.of("a"), since.getFirst().node());
        assertEquals(OptionalLong.of(space), since.getFirst().spaceId());
    }

    private FiguresReport.Guest parked(long since) {
        return new FiguresReport.Guest(space, WHERE, FAULTS, OptionalLong.of(since), Optional.empty());
    }

    private List<Event> events() throws CoordinatorException {
        return running.client.events(0, Duration.ZERO).events();
    }

    private JsonNode shown(String path) throws IOException, InterruptedException {
        return Json.STRICT.readTree(running.send("GET", path, "").body());
    }

    @Test
    void shouldShowAGuestsMapAndHeatOnceItsAgentHasSentThem() throws CoordinatorException {
        assertEquals(
                List.of(),
                running.client
                        .find(ViewOperations.FIGURES_OF_GUEST.at("vm1"))
                        .orElseThrow()
                        .guests());
        assertTrue(running.client
                .find(ViewOperations.FIGURES_OF_GUEST.at("absent"))
                .isEmpty());
        running.client.reportHeat("vm1", new HeatReport(List.of(new HeatReport.Range(0, 128, 1280))));
        assertEquals(
                List.of(space),
                running.client
                        .reportFigures("a", report(1, guest(space, Optional.empty())))
                        .maps());
        assertEquals(Optional.empty(), only("vm1").map());
        List<Integer> percent = IntStream.range(0, PAGES).mapToObj(i -> i % 101).toList();
        PageMap map = new PageMap(percent, percent, percent, percent, percent);
        running.client.reportFigures("a", report(1, guest(space, Optional.of(map))));
        GuestFigures.OfGuest guest = only(Long.toString(space));
        assertEquals(Optional.of(map), guest.map());
        assertEquals(
                IntStream.range(0, PAGES).mapToObj(i -> i < 128 ? 10L : 0L).toList(),
                guest.heat().orElseThrow());
    }

    private GuestFigures.OfGuest only(String name) throws CoordinatorException {
        return running.client
                .find(ViewOperations.FIGURES_OF_GUEST.at(name))
                .orElseThrow()
                .guests()
                .getFirst();
    }

    @Test
    void shouldLeaveOutGuestsOfSpacesThatTheNodeIsNotAttachedTo() throws CoordinatorException {
        running.client.reportFigures("b", report(2, guest(space, Optional.empty()), guest(999, Optional.empty())));
        assertEquals(
                List.of(),
                running.client.call(ViewOperations.FIGURES_OF_GUESTS.at()).guests());
        assertEquals(
                1,
                running.client
                        .call(ViewOperations.FIGURES_OF_NODES.at())
                        .nodes()
                        .size());
    }

    private static FiguresReport asHome(long incarnation, DirectoryFigures... directories) {
        return new FiguresReport(
                new Incarnation(incarnation), 5_000, FAULTS, List.of(), Optional.of(List.of(directories)));
    }

    private static DirectoryFigures directory(long id, Bouncing... bouncing) {
        return new DirectoryFigures(id, 5_000, 600, 50, 30, 2, 1, List.of("b"), List.of(bouncing));
    }

    private List<CoherentFigures> coherent() throws CoordinatorException {
        return running.client.call(ViewOperations.FIGURES_OF_GUESTS.at()).coherent();
    }

    @Test
    void shouldShowTheMembersAndHomesOfCoherentSpaces() throws CoordinatorException {
        long shared = running.client
                .createSpace(new SpaceRequest("shared", PAGES * 4096L, OptionalInt.of(4096), Optional.of(List.of("b")))
                        .asCoherent())
                .id();
        List<CoherentFigures.OfHome> silent = List.of(new CoherentFigures.OfHome("b", Optional.empty()));
        assertEquals(List.of(new CoherentFigures(shared, "shared", List.of(), silent)), coherent());
        running.client.attach("shared", "a", new AttachRequest(new Incarnation(1), AttachMode.MEMBER));
        running.client.attach("shared", "b", new AttachRequest(new Incarnation(2), AttachMode.MEMBER));
        running.client.reportFigures("a", asHome(1, directory(shared)));
        assertEquals(
                List.of(new CoherentFigures(shared, "shared", List.of("a", "b"), silent)),
                coherent(),
                "node a is not a home of it");

        DirectoryFigures own = directory(shared, new Bouncing(17, 200, "a", "a former member"));
        running.client.reportFigures("b", asHome(2, directory(999), directory(space), own));
        List<CoherentFigures.OfHome> reported = List.of(new CoherentFigures.OfHome("b", Optional.of(own)));
        assertEquals(
                List.of(reported),
                coherent().stream().map(CoherentFigures::homes).toList());
        assertEquals(
                reported,
                running.client
                        .find(ViewOperations.FIGURES_OF_GUEST.at("shared"))
                        .orElseThrow()
                        .coherent()
                        .getFirst()
                        .homes());
        assertEquals(
                List.of(),
                running.client
                        .find(ViewOperations.FIGURES_OF_GUEST.at("vm1"))
                        .orElseThrow()
                        .coherent());
    }

    @Test
    void shouldRefuseADirectoryWithMorePagesThanAreShown() throws IOException, InterruptedException {
        String page = "{\"page\":1,\"taken\":2,\"from\":\"a\",\"to\":\"b\"}";
        String body = Json.STRICT
                .writeValueAsString(asHome(2, directory(space)))
                .replace("\"bouncing\":[]", "\"bouncing\":[" + (page + ",").repeat(8) + page + "]");
        var refused = running.send("POST", "/api/v1/nodes/b/figures", body);
        assertEquals(400, refused.statusCode());
        assertTrue(refused.body().contains("bouncing: number of elements: 9 is not in 0..8"), refused.body());
    }

    @Test
    void shouldRefuseReportsOfNodesThatAreNotRegisteredAsThat() throws IOException, InterruptedException {
        FiguresReport report = report(9, guest(space, Optional.empty()));
        CoordinatorRefusedException stale =
                assertThrows(CoordinatorRefusedException.class, () -> running.client.reportFigures("a", report));
        assertTrue(stale.isStaleIncarnation(), stale.getMessage());
        CoordinatorRefusedException unknown =
                assertThrows(CoordinatorRefusedException.class, () -> running.client.reportFigures("z", report));
        assertTrue(unknown.isNotFound(), unknown.getMessage());
        assertEquals(
                400,
                running.send("POST", "/api/v1/nodes/a/figures", "{\"incarnation\":\"0000000000000001\",\"millis\":0}")
                        .statusCode());
    }
}
