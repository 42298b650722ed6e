package io.farpage.coordinator.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FaultHistory;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PageMap;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class FiguresTest {
    private static final GuestPages PAGES = new GuestPages(100, 30, 30, 10, 60, 10, 0, 0);
    private static final PageMap MAP = new PageMap(List.of(30), List.of(10), List.of(60), List.of(10), List.of(0));

    private final FakeTime time = new FakeTime();
    private final Figures figures = new Figures(time);

    private static FaultFigures faults(long count) {
        return new FaultFigures(count, count, 10_000, 90_000, 8_000, 70_000);
    }

    private static FiguresReport.Guest guest(long space, long faults) {
        return new FiguresReport.Guest(space, PAGES, faults(faults), OptionalLong.empty(), Optional.empty());
    }

    private static FiguresReport report(long faults, FiguresReport.Guest... guests) {
        return new FiguresReport(new Incarnation(1), 5_000, faults(faults), List.of(guests));
    }

    @Test
    void shouldKeepFifteenMinutesOfReports() {
        for (int i = 0; i < 300; i++) {
            figures.report("a", report(i, guest(7, i)));
            time.advance(Duration.ofSeconds(5));
        }
        FaultHistory kept = figures.ofNode("a", 0);
        assertEquals(179, kept.at().size());
        assertEquals(kept, figures.ofGuest(7, 0));
        long latest = figures.now() - 5;
        assertEquals(
                LongStream.rangeClosed(-178, 0).map(i -> latest + 5 * i).boxed().toList(), kept.at());
        assertEquals(IntStream.range(121, 300).mapToObj(i -> i / 5.0).toList(), kept.faultsPerSecond());
        assertEquals(Set.of(10_000L), Set.copyOf(kept.faultP50Ns()));
        assertEquals(Set.of(90_000L), Set.copyOf(kept.faultP99Ns()));
        assertEquals(Set.of(8_000L), Set.copyOf(kept.fetchP50Ns()));
        assertEquals(Set.of(70_000L), Set.copyOf(kept.fetchP99Ns()));
        assertEquals(List.of(latest), figures.ofNode("a", latest - 5).at(), "what a client has not seen");
        time.advance(Duration.ofMinutes(15));
        assertEquals(Set.of(), figures.nodes());
        assertEquals(Set.of(), figures.spaces());
        assertEquals(Optional.empty(), figures.guest(7));
        assertEquals(List.of(), figures.ofNode("a", 0).at());
    }

    @Test
    void shouldKeepAGuestsHistoryWhenItMovesToAnotherNode() {
        figures.report("a", report(1, guest(7, 10)));
        figures.report("b", report(1, guest(7, 20)));
        assertEquals(List.of(2.0, 4.0), figures.ofGuest(7, 0).faultsPerSecond());
        assertEquals(Optional.of(new Figures.Guest("b", PAGES, OptionalLong.empty())), figures.guest(7));
        assertEquals(Set.of("a", "b"), figures.nodes());
    }

    private static DirectoryFigures directory(long space, long requests) {
        return new DirectoryFigures(space, 5_000, requests, 0, 0, 0, 0, List.of(), List.of());
    }

    private static FiguresReport asHome(DirectoryFigures... directories) {
        return new FiguresReport(new Incarnation(1), 5_000, faults(0), List.of(), Optional.of(List.of(directories)));
    }

    @Test
    void shouldForgetWhatAHomeDidUnlessItReportsOn() {
        assertTrue(figures.report("a", report(1)).directories(), "agents send it to a coordinator that asks for it");
        assertEquals(Optional.empty(), figures.directory("a", 7));
        figures.report("a", asHome(directory(7, 1), directory(8, 2)));
        figures.report("b", asHome(directory(7, 3)));
        assertEquals(Optional.of(directory(7, 1)), figures.directory("a", 7));
        assertEquals(Optional.of(directory(7, 3)), figures.directory("b", 7));
        time.advance(Duration.ofSeconds(14));
        figures.report("a", report(1));
        figures.report("b", asHome());
        assertEquals(Optional.of(directory(8, 2)), figures.directory("a", 8), "this report has none at all");
        assertEquals(Optional.empty(), figures.directory("b", 7), "it has no longer a directory of the space");
        time.advance(Duration.ofSeconds(1));
        figures.report("a", report(1));
        assertEquals(Optional.empty(), figures.directory("a", 8));
    }

    @Test
    void shouldAskForAMapAsLongAsItIsLookedAt() {
        assertEquals(List.of(), figures.report("a", report(1, guest(7, 1))).maps());
        assertEquals(Optional.empty(), figures.map(7));
        assertEquals(
                List.of(7L),
                figures.report("a", report(1, guest(7, 1), guest(8, 1))).maps());
        figures.report(
                "a", report(1, new FiguresReport.Guest(7, PAGES, faults(1), OptionalLong.empty(), Optional.of(MAP))));
        figures.report(
                "a", report(1, new FiguresReport.Guest(8, PAGES, faults(1), OptionalLong.empty(), Optional.of(MAP))));
        assertEquals(Optional.of(MAP), figures.map(7));
        assertEquals(Optional.empty(), figures.map(8), "a map that was not looked at is not kept");
        time.advance(Duration.ofSeconds(31));
        assertEquals(List.of(), figures.report("a", report(1, guest(7, 1))).maps());
        assertEquals(Optional.empty(), figures.map(7), "it would be old");
    }

    @Test
    void shouldKeepNoMoreMapsThanItHasRoomFor() {
        LongStream.range(0, 2L * Figures.MAX_MAPS).forEach(figures::map);
        FiguresReport.Guest[] all = LongStream.range(0, 2L * Figures.MAX_MAPS)
                .mapToObj(space -> guest(space, 1))
                .toArray(FiguresReport.Guest[]::new);
        assertEquals(
                Figures.MAX_MAPS, figures.report("a", report(1, all)).maps().size());
    }

    @Test
    void shouldRefuseMoreHistoriesThanItHasRoomForUntilOthersAreOld() {
        int each = FiguresReport.MAX_GUESTS;
        int nodes = Figures.MAX_HISTORIES / each;
        for (int node = 0; node < nodes; node++) {
            long first = (long) node * each;
            figures.report(
                    "n" + node,
                    report(
                            1,
                            LongStream.range(first, first + each - 1)
                                    .mapToObj(space -> guest(space, 1))
                                    .toArray(FiguresReport.Guest[]::new)));
        }
        figures.report("n0", report(1, guest(0, 1)));
        FiguresReport more = report(1, guest(1_000_000, 1));
        ProblemException refused = assertThrows(ProblemException.class, () -> figures.report("m", more));
        assertEquals(503, refused.status());
        assertTrue(String.valueOf(refused.getMessage()).contains("node 'm' and its 1 guests"), refused.getMessage());
        time.advance(Duration.ofMinutes(15));
        figures.report("m", more);
        assertEquals(Set.of("m"), figures.nodes());
    }
}
