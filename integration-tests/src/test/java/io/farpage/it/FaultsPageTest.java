package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PageMap;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.harness.Axe;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Pictures;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What the dashboard shows of faults and of a guest, as the test reports them instead of agents. */
@Tag("portable")
@Tag("processes")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FaultsPageTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    /** axe-core needs seconds for many; pictures show more. */
    private static final int NODES = Pictures.areWanted() ? 40 : 20;

    private static final int GUESTS = 4;
    private static final int PAGES = 256;
    private static final int PAGE = 4096;
    private static final long PARKED_SINCE = 1_750_000_000;
    private static final String HOSTILE = "<img src=x onerror=alert(1)>";

    private Optional<Chromium> browser = Optional.empty();
    private Optional<Cluster> cluster = Optional.empty();

    @BeforeAll
    void start() throws CoordinatorException {
        browser = Optional.of(Chromium.start());
        cluster = Optional.of(Cluster.start(Map.of("lease.duration", "1h")));
        for (int number = 0; number < NODES; number++) {
            cluster().client().register(node(number), registration(number));
        }
        for (int number = 0; number < GUESTS; number++) {
            cluster()
                    .client()
                    .createSpace(new SpaceRequest(
                                    guest(number),
                                    PAGES * PAGE,
                                    OptionalInt.of(PAGE),
                                    Optional.of(List.of(node(number + GUESTS), node(number + GUESTS + 1))))
                            .withReplicas(2));
            cluster()
                    .client()
                    .attach(
                            guest(number),
                            node(number),
                            new AttachRequest(new Incarnation(number + 1), AttachMode.EXCLUSIVE));
        }
        cluster()
                .client()
                .reportHeat(
                        guest(0),
                        new HeatReport(IntStream.range(0, 32)
                                .mapToObj(range -> new HeatReport.Range(range * 8L, 8, (range * 37 % 11) * 100L))
                                .toList()));
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

    private static String node(int number) {
        return "node-%02d".formatted(number);
    }

    private static String guest(int number) {
        return "vm-%02d".formatted(number);
    }

    private static Registration registration(int number) {
        return new Registration(
                new Incarnation(number + 1),
                number == 0 ? HOSTILE : "host-" + number,
                "127.0.0.1:1",
                1,
                8 << 20,
                List.of(new DeviceInfo(
                        "soft0", TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(8 << 20, PAGE, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** As the agents of all guests. */
    private void report(int round) throws CoordinatorException {
        for (int number = 0; number < GUESTS; number++) {
            long space = cluster().client().space(guest(number)).orElseThrow().id();
            FaultFigures faults = new FaultFigures(
                    5L * (100 + number), 400, 9_000 + number * 300, 70_000 + round * 9_000, 7_000, 60_000);
            cluster()
                    .client()
                    .reportFigures(
                            node(number),
                            new FiguresReport(
                                    new Incarnation(number + 1),
                                    5_000,
                                    faults,
                                    List.of(new FiguresReport.Guest(
                                            space,
                                            new GuestPages(PAGES, 64, 60, 20, 130, 65, 1, 0),
                                            faults,
                                            number == 1 ? OptionalLong.of(PARKED_SINCE) : OptionalLong.empty(),
                                            Optional.of(map())))));
        }
    }

    private static PageMap map() {
        List<Integer> none = IntStream.range(0, PAGES).mapToObj(part -> 0).toList();
        return new PageMap(
                where(part -> part % 64 < 15),
                where(part -> part % 64 < 5),
                where(part -> part % 64 >= 15 && part < 192),
                where(part -> part % 64 >= 15 && part >= 192),
                none);
    }

    private static List<Integer> where(java.util.function.IntPredicate isThere) {
        return IntStream.range(0, PAGES)
                .mapToObj(part -> isThere.test(part) ? 100 : 0)
                .toList();
    }

    private void open(String page) {
        URI base = cluster().coordinator().rest().base();
        browser().open(base.resolve(page));
        browser().awaitTrue("document.querySelector('#state.live')", TIMEOUT);
    }

    private void check(String picture) throws Exception {
        for (String scheme : List.of("light", "dark")) {
            browser().prefer(scheme);
            assertEquals(List.of(), Axe.violations(browser()), picture + ", " + scheme);
        }
        assertEquals(List.of(), browser().complaints());
        Pictures.take(browser(), picture);
    }

    @Test
    void shouldShowTheFaultsOfNodesAndGuests() throws Exception {
        browser().resize(1280, 900);
        report(0);
        open("/");
        browser().awaitTrue("document.querySelectorAll('#fault-table tbody svg').length === 4", TIMEOUT);
        assertEquals("100/s", browser().text("#fault-table tbody tr td:nth-of-type(1)"));
        assertEquals("9.00 µs", browser().text("#fault-table tbody tr td:nth-of-type(2)"));
        assertEquals("70.0 µs", browser().text("#fault-table tbody tr td:nth-of-type(3)"));
        assertTrue(
                browser()
                        .evaluate("document.querySelector('#fault-table svg').getAttribute('aria-label')")
                        .asString()
                        .endsWith("last 70.0 µs"),
                "the chart in words");
        browser().awaitTrue("document.querySelectorAll('#guest-table tbody svg.spark').length === 4", TIMEOUT);
        assertTrue(
                browser().text("#guest-table tbody tr").contains("240 KiB of 256 KiB"),
                browser().text("#guest-table"));
        assertEquals(
                1,
                browser()
                        .evaluate("document.querySelector('#guest-table').textContent.split('parked since').length - 1")
                        .asInt());
        report(1);
        browser()
                .awaitTrue(
                        "document.querySelector('#fault-table tbody tr td:nth-of-type(3)').textContent === '79.0 µs'",
                        TIMEOUT);
        assertTrue(browser().text("#node-table").contains(HOSTILE), "markup is shown as text");
        assertEquals(
                0,
                browser().evaluate("document.querySelectorAll('td img').length").asInt());
        check("forty-nodes");
        reachByTab("/dashboard/guest.html?space=");
    }

    /** Agents report every five seconds, but one that starts again may do so in the second of its last report. */
    @Test
    void shouldShowTheLaterOfTwoReportsOfASecond() throws CoordinatorException {
        open("/");
        browser()
                .evaluate("import('/dashboard/histories.js').then(module =>"
                        + " { window.histories = new module.Histories('figures/nodes', 'nodes', 'node'); })");
        // More than one round, since a new second may begin between the two reports.
        for (int round = 0; round < 3; round++) {
            for (int sample = 0; sample < 2; sample++) {
                report(sample);
                assertEquals(
                        70_000 + sample * 9_000,
                        browser()
                                .evaluate("histories.refresh({prefix: 'node-00'})"
                                        + ".then(() => histories.get('node-00').history.faultP99Ns.at(-1))")
                                .asInt());
            }
        }
    }

    @Test
    void shouldShowAClusterWithinASecondOfOpeningThePage() throws CoordinatorException {
        report(0);
        double best = Double.MAX_VALUE;
        // The best of a few, since other programs use the CPUs, too.
        for (int attempt = 0; attempt < 5 && best > 1_000; attempt++) {
            open("/");
            browser().awaitTrue("document.querySelectorAll('#fault-table tbody svg').length === 4", TIMEOUT);
            best = Math.min(
                    best,
                    browser()
                            .evaluate("performance.getEntriesByType('resource')"
                                    + ".filter(one => one.name.includes('/figures/nodes'))[0].responseEnd")
                            .asDouble());
        }
        System.out.printf("all nodes and their faults were read %.0f ms after the page was opened%n", best);
        assertTrue(best <= 1_000, best + " ms");
    }

    /** Presses Tab until a link has the focus; all that has it before has an outline that is seen. */
    private void reachByTab(String link) {
        Set<String> reached = new LinkedHashSet<>();
        for (int presses = 0; presses < 60; presses++) {
            browser().press("Tab");
            String focused = browser()
                    .evaluate("(e => (parseFloat(getComputedStyle(e).outlineWidth) >= 2 ? '' : 'unseen ') +"
                            + " (e.getAttribute('href') ?? e.tagName))(document.activeElement)")
                    .asString();
            assertTrue(focused.endsWith("BODY") || !focused.startsWith("unseen"), focused);
            if (focused.startsWith(link)) {
                return;
            }
            reached.add(focused);
        }
        fail(link + " is not reached; these are: " + reached);
    }

    @Test
    void shouldShowWhereThePagesOfAGuestAre() throws Exception {
        browser().resize(1280, 900);
        report(0);
        long space = cluster().client().space(guest(0)).orElseThrow().id();
        open("/dashboard/guest.html?space=" + space);
        assertEquals("Guest of space vm-00", browser().text("#title"));
        browser().awaitTrue("document.querySelectorAll('#faults svg').length === 3", TIMEOUT);
        report(1);
        browser().awaitTrue("document.querySelectorAll('#bands .strip').length === 6", TIMEOUT);
        // Four runs of resident parts, and as many of dirty ones.
        assertEquals(4, rects("resident"));
        assertEquals(4, rects("dirty"));
        assertEquals(3, rects("remote"));
        assertEquals(1, rects("zero"));
        assertEquals(0, rects("lost"));
        assertTrue(rects("heat") > 10);
        assertTrue(browser().text("#bands").contains("node-04"), browser().text("#bands"));
        assertEquals("240 KiB of 256 KiB, 94 %", browser().text("#figures .use span"));
        browser().evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })");
        assertEquals("94 %", browser().text("#map-table tbody tr td"));
        assertEquals(
                15,
                browser()
                        .evaluate("document.querySelectorAll('#minute-table tbody tr').length")
                        .asInt());
        check("guest");
    }

    private int rects(String state) {
        return browser()
                .evaluate("document.querySelectorAll('.strip.%s rect').length".formatted(state))
                .asInt();
    }

    @Test
    void shouldSayThatAGuestsSpaceDoesNotExist() {
        browser().open(cluster().coordinator().rest().base().resolve("/dashboard/guest.html?space=%3Cb%3E"));
        browser().awaitTrue("document.getElementById('problem')?.hidden === false", TIMEOUT);
        assertEquals(
                "There is no space “<b>”: it was deleted, or the address of this page is mistyped.",
                browser().text("#problem"));
    }
}
