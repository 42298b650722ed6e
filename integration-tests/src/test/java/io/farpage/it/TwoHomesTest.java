package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.FilePages;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** A guest whose pages live on two nodes. One of the nodes is killed or stands still. */
@NeedsUserfaultfd
@Tag("soak")
class TwoHomesTest {
    private static final int PAGE = 4096;
    /** All that node b exports; the coordinator fills it before it takes memory from node c. */
    private static final int PAGES_OF_B = 512;

    private static final int PAGES = 2 * PAGES_OF_B;
    private static final int LIMIT = 256;
    private static final int SEED = 16;
    private static final String SPACE = "two-homes";
    private static final Map<String, String> SMALL = Map.of("pool.exported", "2MiB");

    @RegisterExtension
    final ClusterLog log = new ClusterLog(this::cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Guests guests;

    private Cluster cluster() {
        return cluster;
    }

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    private PagedRam begin(Map<String, String> settings) {
        cluster.openAgent("a", settings);
        cluster.launchAgent("b", SMALL);
        cluster.openAgent("c", Map.of());
        cluster.awaitAllLinks();
        Path socket = directory.resolve("socket");
        guests.tryAttach(SPACE, """
                {"socket": "%s", "sizeBytes": %d, "homes": ["b", "c"], "localBytes": %d, \
                "prefetchPages": 1}""".formatted(socket, PAGES * PAGE, LIMIT * PAGE))
                .expect(200);
        PagedRam ram = PagedRam.handOver(socket, PAGES, 1);
        guests.awaitAttached(SPACE);
        return ram;
    }

    @Test
    void shouldKeepPagesResidentWhenTheirHomeIsLost() throws Exception {
        try (PagedRam ram = begin(Map.of("fetch.deadline", "1s"))) {
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, Pages.of(SEED, page, PAGE));
            }
            // Clean: read back from b. Dirty: written anew, and not yet evicted.
            for (int page = 0; page < 60; page++) {
                ram.read(page);
            }
            for (int page = 60; page < 90; page++) {
                ram.write(page, Pages.of(SEED, page, PAGE));
            }
            String before = cluster.incarnation("b");
            cluster.process("b").process().kill();
            cluster.startAgent("b", SMALL);
            cluster.awaitActive("b", before);
            await("pages without a living home", Deadlines.LONG)
                    .until(() -> guests.status(SPACE).path("strandedPages").asInt() > 0);
            BitSet resident = FilePages.resident(ram.file(), PAGES_OF_B, PAGE);
            assertTrue(resident.get(59) && resident.get(89), resident.toString());

            for (int round = 0; round < 3; round++) {
                for (int page = PAGES_OF_B; page < PAGES; page++) {
                    assertArrayEquals(Pages.of(SEED, page, PAGE), ram.read(page), "page " + page);
                    ram.write(page, Pages.of(SEED, page, PAGE));
                }
            }
            BitSet left = FilePages.resident(ram.file(), PAGES_OF_B, PAGE);
            assertEquals(resident, left);
            for (int page = left.nextSetBit(0); page >= 0; page = left.nextSetBit(page + 1)) {
                assertArrayEquals(Pages.of(SEED, page, PAGE), ram.read(page), "page " + page);
            }
            JsonNode status = guests.status(SPACE);
            assertEquals(left.cardinality(), status.get("strandedPages").asInt(), status.toString());
            int others = status.get("residentPages").asInt() - left.cardinality();
            assertTrue(others <= LIMIT, status.toString());
            assertTrue(
                    cluster.agent("a")
                            .rest()
                            .get("/metrics")
                            .text()
                            .contains("farpage_agent_guest_stranded_pages{space=\"" + SPACE + "\"}"),
                    "the metric is missing");
        }
        JsonNode ended = guests.awaitEnded(SPACE);
        assertTrue(ended.get("detail").asString().contains("not at its homes"), ended.toString());
    }

    @Test
    void shouldSaveEveryPageWhenTheVmmEndsWhileItsHomeIsAway() throws Exception {
        try (PagedRam ram = begin(Map.of("fetch.deadline", "500ms"))) {
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, Pages.of(SEED, page, PAGE));
            }
            for (int page = 0; page < PAGES_OF_B; page++) {
                ram.write(page, Pages.of(SEED + 1, page, PAGE));
            }
            cluster.process("b").process().stop();
        }
        try {
            // Time alone: several deadlines of what the agent writes to b pass.
            await("time passes", Deadlines.SHORT)
                    .pollDelay(Duration.ofSeconds(3))
                    .until(() -> true);
        } finally {
            cluster.process("b").process().resume();
        }
        JsonNode ended = guests.awaitEnded(SPACE);
        assertTrue(!ended.get("detail").asString().contains("not at its homes"), ended.toString());
        guests.forget(SPACE);
        for (int page = 0; page < PAGES; page++) {
            Answer answer = cluster.agent("c").page(SPACE, page).expect(200);
            int seed = page < PAGES_OF_B ? SEED + 1 : SEED;
            assertArrayEquals(Pages.of(seed, page, PAGE), answer.body(), "page " + page);
        }
    }

    @Test
    void shouldServePagesOfOneHomeWhileTheOtherDoesNotAnswer() throws Exception {
        List<Thread> stuck = new ArrayList<>();
        try (PagedRam ram = begin(Map.of("fetch.deadline", "20s", "guest.depth", "8"))) {
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, Pages.of(SEED, page, PAGE));
            }
            for (int page = 0; page < LIMIT / 2; page++) {
                ram.write(page, Pages.of(SEED, page, PAGE));
            }
            cluster.process("b").process().stop();
            try {
                BitSet resident = FilePages.resident(ram.file(), PAGES_OF_B, PAGE);
                for (int page = PAGES_OF_B - 1, count = 0; count < 24; page--) {
                    if (!resident.get(page)) {
                        int absent = page;
                        stuck.add(Thread.ofPlatform().daemon().start(() -> ram.touch(absent)));
                        count++;
                    }
                }
                await("time passes", Deadlines.SHORT)
                        .pollDelay(Duration.ofMillis(300))
                        .until(() -> true);
                // In a thread of its own: if b holds it up, b must go on before it can end.
                AtomicReference<String> wrong = new AtomicReference<>("");
                Thread reader = Thread.ofPlatform().daemon().start(() -> wrong.set(goThroughPagesOfC(ram)));
                List<Thread> waiting = List.copyOf(stuck);
                stuck.add(reader);
                Deadlines.join("pages of c, without b", Deadlines.SHORT, reader);
                assertTrue(waiting.stream().allMatch(Thread::isAlive), "b answered although it was stopped");
                assertEquals("", wrong.get());
            } finally {
                cluster.process("b").process().resume();
                // Before the memory goes: none of them may touch it from now on.
                for (Thread thread : stuck) {
                    Deadlines.join("a page of b", Deadlines.LONG, thread);
                }
            }
            assertArrayEquals(Pages.of(SEED, 0, PAGE), ram.read(0));
        }
        guests.awaitEnded(SPACE);
    }

    /** Reads and writes every page of c; returns what is wrong, or nothing. */
    private static String goThroughPagesOfC(PagedRam ram) {
        for (int page = PAGES_OF_B; page < PAGES; page++) {
            if (!Arrays.equals(Pages.of(SEED, page, PAGE), ram.read(page))) {
                return "page " + page + " differs";
            }
            ram.write(page, Pages.of(SEED, page, PAGE));
        }
        return "";
    }
}
