package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The agent of a guest is killed at any time while a snapshot is made of it, and the coordinator and a home of two,
 * too. There is the whole snapshot or none, and the guest goes on.
 */
@NeedsUserfaultfd
@Tag("processes")
class SnapshotUnderKillsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 4 * 512;
    private static final int LOCAL_PAGES = 512;
    private static final Map<String, String> HOME = Map.of("pool.exported", "128MiB");
    private static final int SNAPSHOTS = 5;
    /** From the moment until nearly every snapshot is made. */
    private static final int LATEST_KILL_MILLIS = 40;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private KeeperProcess keeper;

    private final Map<String, String> kept = new HashMap<>(Map.of("pool.exported", "2MiB"));
    private final byte[][] expected = new byte[PAGES][];
    private final SplittableRandom random = new SplittableRandom(23);

    @BeforeEach
    void start() throws Exception {
        cluster = Cluster.startProcess();
        keeper = KeeperProcess.start("a", directory.resolve("a.keeper"));
        kept.putAll(keeper.settings());
        cluster.launchAgent("a", kept);
        cluster.launchAgent("b", HOME);
        cluster.launchAgent("c", HOME);
        cluster.awaitAllLinks();
        Arrays.setAll(expected, _ -> new byte[PAGE]);
    }

    @AfterEach
    void end() {
        cluster.close();
        keeper.close();
    }

    private PagedRam begin(Guests guests, String space) {
        Path socket = directory.resolve(space);
        guests.tryAttach(space, "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL_PAGES * PAGE))
                .expect(200);
        return PagedRam.handOver(socket, PAGES);
    }

    private void use(PagedRam ram, int operations) {
        for (int i = 0; i < operations; i++) {
            int page = random.nextInt(PAGES);
            if (random.nextInt(3) == 0) {
                expected[page] = Pages.of(random.nextInt(), page, PAGE);
                ram.write(page, expected[page]);
            } else {
                assertArrayEquals(expected[page], ram.read(page), "page " + page);
            }
        }
    }

    private static void checkAll(String name, byte[][] pages, PagedRam ram) {
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(pages[page], ram.read(page), name + ", page " + page);
        }
    }

    private boolean isWhole() throws CoordinatorException {
        for (Space space : cluster.client().spaces()) {
            for (Extent extent :
                    cluster.client().extents(space.name()).orElseThrow().extents()) {
                if (extent.joining().isPresent() || (extent.isAllocated() && extent.isShortOf(2))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** The guest stands still meanwhile. */
    private void freeze(String name) {
        cluster.agent("a")
                .rest()
                .send(
                        "POST",
                        "/api/v1/spaces/vm/guest/snapshot",
                        "application/json",
                        "{\"name\": \"%s\"}".formatted(name).getBytes(StandardCharsets.UTF_8))
                .expect(200);
    }

    @Test
    void shouldLeaveWholeSnapshotOrNoneWhenAgentIsKilled() throws Exception {
        cluster.client()
                .createSpace(new SpaceRequest(
                        "vm",
                        (long) PAGES * PAGE,
                        OptionalInt.of(PAGE),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalInt.of(2)));
        Guests guests = new Guests(cluster, "a", "b");
        Map<String, byte[][]> moments = new HashMap<>();
        try (PagedRam ram = begin(guests, "vm")) {
            guests.awaitAttached("vm");
            for (int i = 0; i < SNAPSHOTS; i++) {
                use(ram, 2 * PAGES);
                String name = "vm-" + i;
                moments.put(name, expected.clone());
                freeze(name);
                use(ram, random.nextInt(50));
                Thread.sleep(random.nextInt(LATEST_KILL_MILLIS));
                String before = cluster.incarnation("a");
                cluster.process("a").process().kill();
                if (i == 1) {
                    cluster.coordinatorProcess().process().kill();
                    cluster.coordinatorProcess().restart();
                }
                cluster.startAgent("a", kept);
                cluster.awaitActive("a", before);
                use(ram, PAGES);
            }
            // One that nothing disturbs, and one whose home is killed.
            moments.put("calm", expected.clone());
            freeze("calm");
            await("the snapshot is made", Deadlines.LONG)
                    .ignoreExceptions()
                    .until(() -> cluster.client().space("calm").isPresent());
            use(ram, PAGES);
            await("each extent has two homes", Deadlines.LONG)
                    .ignoreExceptions()
                    .until(this::isWhole);
            cluster.process("b").process().kill();
            use(ram, 2 * PAGES);
            checkAll("vm", expected, ram);
        }
        var ended = guests.awaitEnded("vm");
        assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        int made = 0;
        for (Map.Entry<String, byte[][]> each : moments.entrySet()) {
            if (cluster.client().space(each.getKey()).isPresent()) {
                made++;
                cluster.client().makeClone(each.getKey(), new CloneRequest(each.getKey() + "-clone"));
                try (PagedRam clone = begin(guests, each.getKey() + "-clone")) {
                    checkAll(each.getKey(), each.getValue(), clone);
                }
                guests.awaitEnded(each.getKey() + "-clone");
            }
        }
        assertTrue(made >= 1, "the calm one");
        assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        try (PagedRam ram = begin(guests, "vm")) {
            checkAll("vm", expected, ram);
        }
        System.out.println(made + " of " + moments.size() + " snapshots were made");
    }
}
