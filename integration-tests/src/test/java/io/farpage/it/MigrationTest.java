package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Extents move by themselves under a guest that runs: away from a home under pressure, and to a node that joins. */
@NeedsUserfaultfd
@Tag("soak")
class MigrationTest {
    private static final int PAGE = 4096;
    private static final int EXTENT = 1024;
    private static final int PAGES = 8 * EXTENT;
    private static final int HOT = 6 * EXTENT;
    private static final int LIMIT = 512;

    /** Too small for an extent, so the guest's node is never chosen. */
    private static final Map<String, String> SMALL = Map.of("pool.exported", "2MiB");

    private static final Map<String, String> LARGE = Map.of("pool.exported", "48MiB");

    private Optional<Cluster> started = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(this::cluster);

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster() {
        return started.orElseThrow();
    }

    private void start(String... homes) {
        Cluster cluster = Cluster.start(Map.of(
                "lease.duration", "15s",
                "lease.heartbeat_interval", "300ms",
                "rebalance.enabled", "true",
                "rebalance.interval", "500ms",
                "rebalance.idle_faults", "0"));
        started = Optional.of(cluster);
        cluster.openAgent("a", SMALL);
        List.of(homes).forEach(node -> cluster.openAgent(node, LARGE));
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        started.ifPresent(Cluster::close);
    }

    private void create(String space, int pages, String home) throws CoordinatorException {
        cluster()
                .client()
                .createSpace(
                        new SpaceRequest(space, (long) pages * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(home))));
    }

    private PagedRam attach(String space, int pages) {
        Path socket = directory.resolve(space);
        new Guests(cluster(), "a", "b").attach(space, socket, (long) pages * PAGE, (long) LIMIT * PAGE);
        return PagedRam.handOver(socket, pages);
    }

    private List<Extent> extents(String space) throws CoordinatorException {
        return cluster().client().extents(space).orElseThrow().extents();
    }

    /** How many of the first extents of a space are read from a node. */
    private long readFrom(String space, String node, int first) throws CoordinatorException {
        return extents(space).stream()
                .limit(first)
                .filter(extent -> extent.primary().node().equals(node))
                .count();
    }

    private static boolean areSettled(List<Extent> extents) {
        return extents.stream()
                .allMatch(extent ->
                        extent.joining().isEmpty() && extent.droppedHomes().isEmpty());
    }

    private long moves(String which) {
        return cluster()
                .coordinator()
                .rest()
                .get("/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("farpage_coordinator_moves_" + which + "_total"))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow();
    }

    /**
     * Three homes with as much room, the hot extents of the guest all on b. The others hold as much, which no guest
     * uses.
     */
    private PagedRam skewed() throws CoordinatorException {
        create("vm", PAGES, "b");
        create("c-unused", PAGES, "c");
        create("d-unused", PAGES, "d");
        return attach("vm", PAGES);
    }

    private void awaitSpread() {
        await("the hot extents on three homes", Deadlines.LONG.multipliedBy(5))
                .pollInterval(Duration.ofMillis(50))
                .until(() -> readFrom("vm", "b", 6) <= 3
                        && readFrom("vm", "c", 6) >= 1
                        && readFrom("vm", "d", 6) >= 1
                        && areSettled(extents("vm")));
    }

    private void compare(PagedRam ram, CheckedPages load, String space, int pages) throws CoordinatorException {
        load.stop();
        assertEquals(List.of(), load.faults());
        ram.close();
        new Guests(cluster(), "a", "b").awaitEnded(space);
        assertTrue(cluster().client().space(space).orElseThrow().torn().isEmpty());
        for (Extent extent : extents(space)) {
            assertEquals(ExtentState.OK, extent.state());
            assertEquals(1, extent.homes().size());
        }
        for (int page = 0; page < pages; page += pages / 91) {
            assertArrayEquals(
                    load.content(page),
                    cluster().agent("a").page(space, page).expect(200).body(),
                    "page " + page);
        }
    }

    @Test
    void shouldSpreadTheHotExtentsOfAHomeUnderPressure() throws Exception {
        start("b", "c", "d");
        PagedRam ram = skewed();
        try (CheckedPages load = CheckedPages.start(ram, HOT, 31)) {
            awaitSpread();
            assertEquals(2, readFrom("vm", "b", 8) - readFrom("vm", "b", 6), "the cold ones stay where they are");
            await("the count of moves", Deadlines.LONG).until(() -> moves("done") >= 3);
            load.awaitAccesses(HOT);
            compare(ram, load, "vm", HOT);
        }
    }

    @Test
    void shouldGiveANodeThatJoinsItsShare() throws Exception {
        start("b");
        create("vm", PAGES, "b");
        PagedRam ram = attach("vm", PAGES);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, 32)) {
            load.awaitAccesses(PAGES / 2);
            assertEquals(0, moves("begun"));
            cluster().openAgent("c", LARGE);
            await("extents on the node that has joined", Deadlines.LONG.multipliedBy(5))
                    .pollInterval(Duration.ofMillis(50))
                    .until(() -> readFrom("vm", "c", 8) >= 3 && areSettled(extents("vm")));
            load.awaitAccesses(PAGES / 2);
            assertTrue(readFrom("vm", "c", 8) <= 5, () -> "no more than its share: " + moves("done"));
            compare(ram, load, "vm", PAGES);
        }
    }
}
