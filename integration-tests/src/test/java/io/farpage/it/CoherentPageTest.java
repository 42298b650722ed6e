package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.harness.Axe;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What the dashboard shows of coherent spaces, as the test reports it instead of agents. */
@Tag("portable")
@Tag("processes")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CoherentPageTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    /** Too small for the space, so that it has two homes. */
    private static final int POOL = (PAGES - 16) * PAGE;

    private static final List<String> NODES = List.of("a", "b", "c", "d");
    private static final FaultFigures NO_FAULTS = new FaultFigures(0, 0, 0, 0, 0, 0);
    private static final String HOSTILE = "<img src=x onerror=alert(1)>";

    private Optional<Chromium> browser = Optional.empty();
    private Optional<Cluster> cluster = Optional.empty();

    @BeforeAll
    void start() throws CoordinatorException {
        browser = Optional.of(Chromium.start());
        cluster = Optional.of(Cluster.start(Map.of("lease.duration", "1h")));
        for (String node : NODES) {
            cluster().client().register(node, registration(node));
        }
    }

    @AfterAll
    void close() {
        browser.ifPresent(Chromium::close);
        cluster.ifPresent(Cluster::close);
    }

    private Chromium browser() {
        return browser.orElseThrow();
    }

    private Cluster cluster() {
        return cluster.orElseThrow();
    }

    private static Incarnation incarnation(String node) {
        return new Incarnation(NODES.indexOf(node) + 1);
    }

    private static Registration registration(String node) {
        return new Registration(
                incarnation(node),
                "host-" + node,
                "127.0.0.1:1",
                1,
                POOL,
                List.of(new DeviceInfo(
                        "soft0", TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(POOL, PAGE, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    private void report(String home, DirectoryFigures figures) throws CoordinatorException {
        cluster()
                .client()
                .reportFigures(
                        home,
                        new FiguresReport(
                                incarnation(home), 5_000, NO_FAULTS, List.of(), Optional.of(List.of(figures))));
    }

    private List<String> cells(String table, int row) {
        String selector = "#%s tbody tr:nth-of-type(%d) > *".formatted(table, row);
        return browser()
                .evaluate("[...document.querySelectorAll('%s')].map(cell => cell.innerText)".formatted(selector))
                .valueStream()
                .map(cell -> cell.asString())
                .toList();
    }

    private boolean isShown() {
        return browser()
                .evaluate("document.getElementById('coherent').checkVisibility()"
                        + " && document.getElementById('coherent-link').checkVisibility()")
                .asBoolean();
    }

    private long create(String name, int pages, String... homes) throws CoordinatorException {
        return cluster()
                .client()
                .createSpace(
                        new SpaceRequest(name, (long) pages * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(homes)))
                                .asCoherent())
                .id();
    }

    private void attach(String space, String... nodes) throws CoordinatorException {
        for (String node : nodes) {
            cluster().client().attach(space, node, new AttachRequest(incarnation(node), AttachMode.MEMBER));
        }
    }

    private void open() {
        browser().open(cluster().coordinator().rest().base().resolve("/"));
        // The table of faults is drawn before that of coherent spaces, from answers that were awaited together.
        browser().awaitTrue("document.querySelector('#fault-table tbody')", TIMEOUT);
    }

    @Test
    void shouldShowWhatMembersShareAndWhatBounces() throws CoordinatorException {
        open();
        assertFalse(isShown(), "no space is coherent");

        create("idle", 16, "a");
        long split = create("split", PAGES, "a", "b");
        long unheard = create("unheard", PAGES, "c", "d");
        attach("split", "c", "d");
        attach("unheard", "a", "b");
        report("a", new DirectoryFigures(split, 1_000, 300, 0, 4, 0, 0, List.of(), List.of()));
        report("b", new DirectoryFigures(split, 5_000, 6_000, 500, 30, 7, 0, List.of(), List.of()));
        report(
                "c",
                new DirectoryFigures(
                        unheard,
                        5_000,
                        5,
                        0,
                        0,
                        2,
                        1_200,
                        List.of("b"),
                        List.of(
                                new DirectoryFigures.Bouncing(17, 201_187, "a", "b"),
                                new DirectoryFigures.Bouncing(3, 5, HOSTILE, "a former member"))));
        open();
        assertTrue(isShown());
        assertEquals(List.of("idle", "none", "a", "–", "–", "–", "–", "–"), cells("coherent-table", 1));
        assertEquals(
                List.of("split", "c\nd", "a, 300/s\nb, 1,200/s", "1,500/s", "100/s", "10/s", "7", "0"),
                cells("coherent-table", 2));
        assertEquals(
                List.of(
                        "unheard",
                        "a\nb, not heard by c",
                        "c, 1/s\nd, not reported",
                        "1/s",
                        "0/s",
                        "0/s",
                        "2",
                        "1,200"),
                cells("coherent-table", 3));
        assertEquals(List.of("unheard", "17", "201,187", "a", "b"), cells("bounce-table", 1));
        assertEquals(List.of("unheard", "3", "5", HOSTILE, "a former member"), cells("bounce-table", 2));
        assertEquals(List.of(), Axe.violations(browser()));
        assertEquals(List.of(), browser().complaints());
    }
}
