package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.GuestFigures;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Axe;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pictures;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.AssertionFailedError;

/**
 * What a browser shows of a guest that runs on remote memory, from its faults to the charts; and of a node that is
 * killed.
 */
@NeedsUserfaultfd
@Tag("soak")
class GuestPageTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(40);
    /** Until the charts of pictures have something to show: {@code -Dfarpage.pictures.seconds}. */
    private static final Duration LOAD = Duration.ofSeconds(Integer.getInteger("farpage.pictures.seconds", 60));

    private static final int PAGES = 2048;
    private static final int LOCAL_PAGES = 512;
    private static final int PAGE = 4096;
    /** The guest leaves the last quarter of its memory alone. */
    private static final int USED = PAGES * 3 / 4;

    @TempDir
    private Path directory = Path.of("");

    private Optional<Cluster> cluster = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster.orElseThrow());

    /** Touches pages, most of them in a hot part, and writes to some, until it is closed. */
    private static final class Load implements AutoCloseable {
        private final AtomicBoolean over = new AtomicBoolean();
        private final Thread thread;

        Load(PagedRam ram) {
            thread = Thread.ofPlatform().daemon().name("load").start(() -> run(ram));
        }

        private void run(PagedRam ram) {
            SplittableRandom random = new SplittableRandom(1);
            byte[] content = new byte[PAGE];
            while (!over.get()) {
                int page = random.nextInt(10) < 7 ? USED / 2 + random.nextInt(USED / 8) : random.nextInt(USED);
                if (random.nextInt(5) == 0) {
                    random.nextBytes(content);
                    ram.write(page, content);
                } else {
                    ram.touch(page);
                }
                LockSupport.parkNanos(20_000); // a guest that also computes
            }
        }

        @Override
        public void close() {
            over.set(true);
            try {
                Deadlines.join("the end of the load", TIMEOUT, thread);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A minute, and as long as pictures take. */
    @Test
    @Timeout(1800)
    void shouldShowAGuestThatRunsAndANodeThatIsKilled() throws Exception {
        try (Chromium browser = Chromium.start();
                Cluster three = Cluster.of(Map.of("pool.exported", "16MiB"), "a", "b")) {
            three.startAgent("c", Map.of("pool.exported", "16MiB"));
            three.awaitAllLinks();
            cluster = Optional.of(three);
            Guests guests = new Guests(three, "a", "b");
            Path socket = directory.resolve("vmm");
            String request = """
                    {"socket": "%s", "sizeBytes": %d, "pageSize": %d, "homes": ["b", "c"], "replicas": 2, \
                    "localBytes": %d}""".formatted(socket, PAGES * PAGE, PAGE, LOCAL_PAGES * PAGE);
            guests.tryAttach("vm1", request).expect(200);
            try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
                guests.awaitAttached("vm1");
                try (Load _ = new Load(ram)) {
                    show(browser, three, guests);
                }
                showKilled(browser, three);
            } finally {
                guests.awaitEnded("vm1");
            }
        }
    }

    private void show(Chromium browser, Cluster three, Guests guests) throws Exception {
        browser.resize(1280, 900);
        browser.open(three.coordinator().rest().base().resolve("/"));
        browser.awaitTrue("document.querySelector('#fault-table tbody th')?.textContent === 'a'", TIMEOUT);
        browser.awaitTrue(
                "document.querySelector('#fault-table tbody tr td:nth-of-type(3)').textContent.endsWith('s')", TIMEOUT);
        browser.awaitTrue("document.querySelector('#guest-table svg.spark')", TIMEOUT);
        String resident = browser.text("#guest-table .use span");
        assertTrue(resident.matches(".*MiB of 2 MiB, \\d+ %"), resident);
        long space = three.client().space("vm1").orElseThrow().id();
        assertEquals(
                "/dashboard/guest.html?space=" + space,
                browser.evaluate("document.querySelector('#guest-table tbody a').getAttribute('href')")
                        .asString());

        browser.open(three.coordinator().rest().base().resolve("/dashboard/guest.html?space=" + space));
        browser.awaitTrue("document.querySelectorAll('#bands .strip').length === 6", TIMEOUT);
        browser.awaitTrue("document.querySelectorAll('.strip.heat rect').length > 1", TIMEOUT);
        checkMap(three);
        check(browser, "guest page");
        if (Pictures.areWanted()) {
            await("the charts have something to show", LOAD.plus(TIMEOUT))
                    .pollDelay(LOAD)
                    .until(() -> true);
            Pictures.take(browser, "guest-under-load");
            browser.open(three.coordinator().rest().base().resolve("/"));
            browser.awaitTrue("document.querySelector('#guest-table svg.spark')", TIMEOUT);
            Pictures.take(browser, "three-nodes");
        }
        assertTrue(guests.status("vm1").get("faults").asLong() > 0);
    }

    /**
     * The agent's map says what the guest has done: it has not touched the last quarter, and 512 of 2,048 pages are
     * resident.
     */
    private static void checkMap(Cluster three) throws Exception {
        GuestFigures.OfGuest guest = three.client()
                .find(ViewOperations.FIGURES_OF_GUEST.at("vm1"))
                .orElseThrow()
                .guests()
                .getFirst();
        List<Integer> zero = guest.map()
                .orElseThrow(() -> new AssertionFailedError("no map of " + guest))
                .zero();
        assertEquals(256, zero.size());
        assertTrue(zero.subList(192, 256).stream().allMatch(percent -> percent == 100), zero.toString());
        assertEquals(PAGES, guest.pages().all());
        assertEquals(LOCAL_PAGES, guest.pages().limit());
        assertTrue(guest.pages().resident() > LOCAL_PAGES / 2, guest.pages().toString());
        assertTrue(
                guest.map().orElseThrow().resident().stream()
                                .mapToInt(Integer::intValue)
                                .sum()
                        >= 25 * 256 / 2,
                guest.toString());
        long p99 = guest.history().faultP99Ns().getLast();
        long p50 = guest.history().faultP50Ns().getLast();
        assertTrue(0 < p50 && p50 <= p99, guest.history().toString());
        assertTrue(
                guest.history().fetchP50Ns().getLast() <= p50, guest.history().toString());
    }

    private static void check(Chromium browser, String page) {
        for (String scheme : List.of("light", "dark")) {
            browser.prefer(scheme);
            assertEquals(List.of(), Axe.violations(browser), page + ", " + scheme);
        }
        assertEquals(List.of(), browser.complaints());
    }

    /** A node that is killed is shown as failed soon after its lease of four seconds. */
    private static void showKilled(Chromium browser, Cluster three) throws Exception {
        browser.open(three.coordinator().rest().base().resolve("/"));
        browser.awaitTrue("document.querySelector('#state.live')", TIMEOUT);
        Deadlines.Wait soon = Deadlines.begin("a node that was killed is shown as failed", Duration.ofSeconds(8));
        long killed = System.nanoTime();
        three.process("c").process().kill();
        browser.awaitTrue("document.querySelector('#attention')?.textContent.includes('node c')", TIMEOUT);
        Duration until = Duration.ofNanos(System.nanoTime() - killed);
        System.out.printf(
                "a node was shown as failed %.1f s after it was killed, with a lease of 4 s%n", until.toMillis() / 1e3);
        soon.check();
        check(browser, "dashboard with a failed node");
        Pictures.take(browser, "node-failed");
    }
}
