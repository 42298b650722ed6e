package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Extents get another home under a guest that runs: in place of one that was killed, or of one on a node that is
 * drained.
 */
@NeedsUserfaultfd
class RepairTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 640;
    private static final int ROUNDS = 6;
    private static final int LIMIT = 128;
    private static final List<String> HOMES = List.of("b", "c", "d");
    /** Too small for a copy, so the guest's node is never chosen. */
    private static final Map<String, String> SMALL = Map.of("pool.exported", "2MiB");

    private static final Map<String, String> LARGE = Map.of("pool.exported", "4MiB");

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

    private void open(String... nodes) {
        List.of(nodes).forEach(node -> cluster.openAgent(node, LARGE));
        cluster.awaitAllLinks();
    }

    /** Those that will be killed. */
    private void launch(String... nodes) {
        List.of(nodes).forEach(node -> cluster.launchAgent(node, LARGE));
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    private PagedRam attach(int replicas, String... homes) throws CoordinatorException {
        cluster.client()
                .createSpace(
                        new SpaceRequest("vm", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(homes)))
                                .withReplicas(replicas));
        guests.attach("vm", directory.resolve("vm"), (long) PAGES * PAGE, (long) LIMIT * PAGE);
        return PagedRam.handOver(directory.resolve("vm"), PAGES);
    }

    private List<Extent> extents() throws CoordinatorException {
        return cluster.client().extents("vm").orElseThrow().extents();
    }

    private void awaitHomes(String... homes) {
        await("homes " + List.of(homes), Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> extents().stream().allMatch(extent -> names(extent).equals(Set.of(homes))));
    }

    private static Set<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
    }

    /** The guest reads what it has stored, and its homes have that when it has ended. */
    private void compare(PagedRam ram, CheckedPages load) throws CoordinatorException {
        load.stop();
        assertEquals(List.of(), load.faults());
        for (Extent extent : extents()) {
            assertEquals(ExtentState.OK, extent.state());
        }
        ram.close();
        guests.awaitEnded("vm");
        assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        for (int page = 0; page < PAGES; page += PAGES / 91) {
            assertArrayEquals(
                    load.content(page),
                    cluster.agent("a").page("vm", page).expect(200).body(),
                    "page " + page);
        }
    }

    @Test
    @Tag("processes")
    void shouldLoseNoPageWhenTheSecondHomeIsKilledAfterTheRepair() throws Exception {
        launch("b", "c");
        open("d");
        PagedRam ram = attach(2, "b", "c");
        try (CheckedPages load = CheckedPages.start(ram, PAGES, new SplittableRandom(21).nextLong())) {
            load.awaitAccesses(2L * PAGES);
            cluster.process("b").process().kill();
            awaitHomes("c", "d");
            load.awaitAccesses(PAGES);
            cluster.process("c").process().kill();
            awaitHomes("d");
            load.awaitAccesses(2L * PAGES);
            compare(ram, load);
        }
    }

    @Test
    @Tag("processes")
    void shouldEmptyANodeUnderAGuestWhosePagesHaveNoOtherHome() throws Exception {
        launch("b");
        drain(1, () -> cluster.process("b").process().kill(), "b");
    }

    @Test
    void shouldTellHowMuchAHomeThatJoinsUnderAGuestHasCopied() throws Exception {
        for (String target : List.of("c", "d")) {
            cluster.openAgent(target, Map.of("pool.exported", "4MiB", "mirror.repair_rate", "512KiB"));
        }
        open("b");
        try (PagedRam ram = attach(1, "b")) {
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, Pages.of(5, page, PAGE));
            }
            cluster.client().drain("b");
            await("a part that is copied", Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> {
                        long copied =
                                cluster.client().drained("b").copiedBytes().orElseThrow();
                        return copied > 0 && copied < (long) PAGES * PAGE;
                    });
            assertTrue(cluster.client().repair("vm").orElseThrow().copiedBytes() > 0);
        }
        guests.awaitEnded("vm");
    }

    @Test
    void shouldEmptyANodeUnderAGuestWhosePagesHaveTwoHomes() throws Exception {
        cluster.openAgent("b", LARGE);
        drain(2, () -> cluster.agent("b").stop(), "b", "c");
    }

    @Test
    @Tag("processes")
    void shouldEmptyItsNodeWhenAnAgentIsToldToStop() throws Exception {
        cluster.launchAgent("b", draining("60s"));
        open("c", "d");
        PagedRam ram = attach(1, "b");
        try (CheckedPages load = CheckedPages.start(ram, PAGES, 23)) {
            load.awaitAccesses(2L * PAGES);
            cluster.agent("b").stop();
            assertTrue(cluster.client().node("b").isEmpty(), "the node has left the cluster");
            load.awaitAccesses(2L * PAGES);
            compare(ram, load);
        }
    }

    @Test
    void shouldEndWithAReasonWhenItsNodeCannotBeEmptiedInTime() throws Exception {
        cluster.openAgent("b", draining("1s"));
        open("c", "d");
        cluster.client()
                .createSpace(
                        new SpaceRequest("idle", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b"))));
        for (String full : List.of("c", "d")) {
            cluster.makeSpace(full, PAGES, PAGE, full);
        }
        try (JvmLog said = new JvmLog()) {
            cluster.agent("b").stop();
            assertTrue(
                    said.lines().stream()
                            .anyMatch(line -> line.contains(
                                            "node b is not drained after 1s (drain.timeout), and pages without another"
                                                    + " home are lost")
                                    && line.contains("space 'idle'")
                                    && line.contains("free bytes in one piece")),
                    () -> said.lines().toString());
        }
    }

    /** Settings of an agent that drains its node when it stops. */
    private static Map<String, String> draining(String timeout) {
        Map<String, String> settings = new HashMap<>(LARGE);
        settings.putAll(Map.of("drain.on_stop", "true", "drain.timeout", timeout));
        return settings;
    }

    /**
     * Round after round a home of two is killed under one guest, or drained and then killed, while the copy that
     * replaces the one before may be under way; each comes back empty.
     */
    @Test
    @Tag("soak")
    void shouldLoseNoPageWhateverHomeIsKilledOrDrained() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        launch("b", "c", "d");
        cluster.awaitAllLinks();
        PagedRam ram = attach(2, "b", "c");
        try (CheckedPages load = CheckedPages.start(ram, PAGES, random.nextLong())) {
            for (int round = 0; round < Soak.part(ROUNDS); round++) {
                load.awaitAccesses(PAGES);
                String gone = HOMES.get(random.nextInt(HOMES.size()));
                boolean drains = random.nextBoolean();
                System.out.println("round " + round + ": " + (drains ? "drain " : "kill ") + gone);
                if (drains) {
                    cluster.client().drain(gone);
                    awaitDrained(gone);
                }
                String before = cluster.incarnation(gone);
                cluster.process(gone).process().kill();
                awaitHomes(HOMES.stream().filter(home -> !home.equals(gone)).toArray(String[]::new));
                cluster.startAgent(gone, LARGE);
                cluster.awaitActive(gone, before);
                if (drains) {
                    cluster.client().cancelDrain(gone);
                }
                cluster.awaitAllLinks();
            }
            compare(ram, load);
        }
    }

    /** Extents leave one after the other; those that have not left keep both homes, and their transfers go on. */
    @Test
    @Tag("soak")
    void shouldKeepBothHomesOfEveryExtentWhileANodeIsEmptied() throws Exception {
        cluster.launchAgent("b", SMALL);
        List.of("c", "d").forEach(node -> cluster.openAgent(node, SMALL));
        open("e");
        PagedRam ram = attach(2, "b", "c", "d");
        int before = extents().size();
        assertTrue(before > 16, "the space is placed in small pieces: " + before);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, 9)) {
            load.awaitAccesses(2L * PAGES);
            cluster.client().drain("b");
            await("the drain of b", Deadlines.LONG.multipliedBy(2))
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> {
                        for (Extent extent : extents()) {
                            assertEquals(2, extent.homes().size(), extent::toString);
                        }
                        return cluster.client().drained("b").drained();
                    });
            cluster.process("b").process().kill();
            load.awaitAccesses(2L * PAGES);
            compare(ram, load);
        }
    }

    private void awaitDrained(String node) {
        await("the drain of " + node, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> cluster.client().drained(node).drained());
    }

    /** Node b is emptied and then ended. */
    private void drain(int replicas, Runnable end, String... homes) throws Exception {
        open("c", "d");
        PagedRam ram = attach(replicas, homes);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, new SplittableRandom(22).nextLong())) {
            load.awaitAccesses(2L * PAGES);
            cluster.client().drain("b");
            awaitDrained("b");
            for (Extent extent : extents()) {
                assertEquals(replicas, extent.homes().size());
                assertTrue(!names(extent).contains("b"), extent::toString);
            }
            load.awaitAccesses(PAGES);
            end.run();
            load.awaitAccesses(2L * PAGES);
            compare(ram, load);
        }
    }
}
