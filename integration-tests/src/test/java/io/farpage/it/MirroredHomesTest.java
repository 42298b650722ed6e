package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** A guest whose pages each have two homes among three, while homes are killed or stand still. */
@NeedsUserfaultfd
class MirroredHomesTest {
    private static final int PAGE = 4096;
    /** All that a home exports: with two copies of all pages, every pair of homes has some. */
    private static final Map<String, String> SMALL = Map.of("pool.exported", "2MiB");

    private static final int PAGES = 640;
    private static final int LIMIT = 128;
    private static final List<String> HOMES = List.of("b", "c", "d");
    private static final int ROUNDS = Soak.part(12);
    private static final int PAUSES = Soak.part(20);

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Guests guests;

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        cluster.openAgent("a", SMALL);
        guests = new Guests(cluster, "a", "b");
    }

    /** Those that will be killed or stopped. */
    private void launchHomes() {
        HOMES.forEach(home -> cluster.launchAgent(home, SMALL));
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    private void attach(String space) throws CoordinatorException {
        cluster.client()
                .createSpace(new SpaceRequest(space, (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(HOMES))
                        .withReplicas(2));
        guests.attach(space, directory.resolve(space), (long) PAGES * PAGE, (long) LIMIT * PAGE);
    }

    private List<Extent> extents(String space) throws CoordinatorException {
        return cluster.client().extents(space).orElseThrow().extents();
    }

    @Test
    @Tag("processes")
    void shouldLoseNoPageWhenAHomeIsKilled() throws Exception {
        SplittableRandom random = new SplittableRandom(11);
        String victim = HOMES.get(random.nextInt(HOMES.size()));
        cluster.launchAgent(victim, SMALL);
        HOMES.stream().filter(home -> !home.equals(victim)).forEach(home -> cluster.openAgent(home, SMALL));
        cluster.awaitAllLinks();
        String before = cluster.incarnation(victim);
        failOnce("vm", victim, random, true);
        cluster.openAgent(victim, SMALL);
        cluster.awaitActive(victim, before);
        awaitFree();
    }

    @Test
    void shouldMakeASpaceWithAsManyHomesAsTheAttachmentAsksFor() throws Exception {
        HOMES.forEach(home -> cluster.openAgent(home, SMALL));
        cluster.awaitAllLinks();
        String request = "{\"socket\": \"%s\", \"sizeBytes\": %d, \"replicas\": %d}";
        Path socket = directory.resolve("asked");
        guests.tryAttach("asked", request.formatted(socket, PAGES * PAGE, 2)).expect(200);
        for (Extent extent : extents("asked")) {
            assertEquals(2, extent.homes().size(), extent.toString());
            assertFalse(isHome(extent, "a"), "the guest's own node is one of the homes");
        }
        guests.forget("asked");
        String refusal = guests.tryAttach("asked", request.formatted(socket, PAGES * PAGE, 3))
                .expect(409)
                .text();
        assertTrue(refusal.contains("space 'asked' exists and has 2 homes for each page, not 3"), refusal);
        refusal = guests.tryAttach("more", request.formatted(socket, PAGES * PAGE, 4))
                .expect(400)
                .text();
        assertTrue(refusal.contains("replicas: 4"), refusal);
    }

    @Test
    @Tag("soak")
    void shouldLoseNoPageWhenAHomeStandsStill() throws Exception {
        launchHomes();
        failOnce("vm", new SplittableRandom(12), false);
    }

    @Test
    @Tag("soak")
    void shouldLoseNoPageWhateverHomeFailsAndHow() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        launchHomes();
        for (int round = 0; round < ROUNDS; round++) {
            failOnce("vm" + round, random, random.nextBoolean());
        }
    }

    /**
     * Prints how long the guest's longest access took: of threads that only read, which need no home to take a WRITE,
     * and of threads that also store.
     */
    @Test
    @Timeout(1800)
    @Tag("soak")
    @Tag("measurement")
    void shouldPauseTheGuestOnlyUntilAnotherHomeIsAsked() throws Exception {
        launchHomes();
        SplittableRandom random = new SplittableRandom(13);
        for (boolean killed : List.of(true, false)) {
            for (boolean readsOnly : List.of(true, false)) {
                List<Long> pauses = new ArrayList<>();
                for (int round = 0; round < PAUSES; round++) {
                    pauses.add(pause("pause" + killed + readsOnly + round, random, killed, readsOnly));
                }
                pauses.sort(null);
                System.out.printf(
                        "home %s, guest %s, %d times: longest access p50 %.1f ms, max %.1f ms%n",
                        killed ? "killed" : "stopped",
                        readsOnly ? "reads" : "reads and stores",
                        PAUSES,
                        pauses.get(PAUSES / 2) / 1e6,
                        pauses.getLast() / 1e6);
            }
        }
    }

    /** Nanoseconds of the longest access when a home fails. */
    private long pause(String space, SplittableRandom random, boolean killed, boolean readsOnly) throws Exception {
        attach(space);
        String home = HOMES.get(random.nextInt(HOMES.size()));
        String before = cluster.incarnation(home);
        long longest;
        PagedRam ram = PagedRam.handOver(directory.resolve(space), PAGES);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, random.nextLong())) {
            load.awaitEachThread(2L * PAGES);
            if (readsOnly) {
                load.readOnly();
                // Until no resident page is dirty.
                load.awaitEachThread(4L * PAGES);
            }
            load.takeLongestNanos();
            fail(home, killed);
            load.awaitEachThread(2L * PAGES);
            longest = load.takeLongestNanos();
            load.stop();
            assertEquals(List.of(), load.faults());
            bringBack(home, before, killed);
            ram.close();
            guests.awaitEnded(space);
            compare(space, load);
        }
        cluster.client().deleteSpace(space);
        awaitFree();
        return longest;
    }

    private void fail(String home, boolean killed) {
        if (killed) {
            cluster.process(home).process().kill();
        } else {
            cluster.process(home).process().stop();
        }
    }

    /** As the other, with any home, which comes back. */
    private void failOnce(String space, SplittableRandom random, boolean killed) throws Exception {
        String home = HOMES.get(random.nextInt(HOMES.size()));
        String before = cluster.incarnation(home);
        failOnce(space, home, random, killed);
        bringBack(home, before, killed);
        awaitFree();
    }

    /** A home fails under a guest, which goes on; then its memory is compared with what the homes have. */
    private void failOnce(String space, String home, SplittableRandom random, boolean killed) throws Exception {
        attach(space);
        PagedRam ram = PagedRam.handOver(directory.resolve(space), PAGES);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, random.nextLong())) {
            load.awaitAccesses(2L * PAGES);
            long usual = load.takeLongestNanos();
            fail(home, killed);
            load.awaitAccesses(3L * PAGES);
            System.out.printf(
                    "home %s %s: the longest access took %.1f ms, and %.1f ms before%n",
                    home, killed ? "killed" : "stopped", load.takeLongestNanos() / 1e6, usual / 1e6);
            await("the drop of " + home, Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> extents(space).stream().noneMatch(extent -> isHome(extent, home)));
            load.awaitAccesses(2L * PAGES);
            load.stop();
            assertEquals(List.of(), load.faults());
            for (Extent extent : extents(space)) {
                assertEquals(ExtentState.OK, extent.state());
                assertTrue(!extent.homes().isEmpty());
            }
            await("the acknowledgement of the drop", Deadlines.LONG)
                    .until(() -> extents(space).stream()
                            .allMatch(extent -> extent.droppedHomes().isEmpty()));
            ram.close();
            guests.awaitEnded(space);
            compare(space, load);
        }
        cluster.client().deleteSpace(space);
    }

    private void compare(String space, CheckedPages load) throws CoordinatorException {
        assertTrue(cluster.client().space(space).orElseThrow().torn().isEmpty());
        for (int page = 0; page < PAGES; page += 13) {
            assertArrayEquals(
                    load.content(page),
                    cluster.agent("a").page(space, page).expect(200).body(),
                    "page " + page);
        }
    }

    private static boolean isHome(Extent extent, String node) {
        return extent.homes().stream().anyMatch(home -> home.node().equals(node));
    }

    private void bringBack(String home, String before, boolean killed) {
        if (killed) {
            cluster.startAgent(home, SMALL);
            cluster.awaitActive(home, before);
        } else {
            cluster.process(home).process().resume();
        }
        cluster.awaitAllLinks();
    }

    private void awaitFree() {
        await("free memory of the homes", Deadlines.LONG)
                .until(() -> HOMES.stream().allMatch(this::isFree));
    }

    /** A space that is being deleted is listed until its frames are released. */
    private boolean isFree(String node) {
        JsonNode hosted = cluster.coordinator()
                .rest()
                .get("/api/v1/nodes/" + node + "/hosted")
                .expect(200)
                .json();
        return hosted.get("spaces").isEmpty() && hosted.get("releases").isEmpty();
    }
}
