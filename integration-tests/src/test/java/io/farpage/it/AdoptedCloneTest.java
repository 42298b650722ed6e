package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
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

/** The agent of a clone's guest is killed and started again, and a home of the clone and its snapshot is killed. */
@NeedsUserfaultfd
@Tag("processes")
class AdoptedCloneTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 4 * 512;
    private static final int LOCAL_PAGES = 128;
    private static final Map<String, String> HOME = Map.of("pool.exported", "40MiB");

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
    private final SplittableRandom random = new SplittableRandom(11);

    @BeforeEach
    void start() throws Exception {
        cluster = Cluster.start();
        keeper = KeeperProcess.start("a", directory.resolve("a.keeper"));
        kept.putAll(keeper.settings());
        cluster.launchAgent("a", kept);
        cluster.launchAgent("b", HOME);
        cluster.launchAgent("c", HOME);
        cluster.awaitAllLinks();
        cluster.client()
                .createSpace(new SpaceRequest(
                        "golden",
                        (long) PAGES * PAGE,
                        OptionalInt.of(PAGE),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalInt.of(2)));
        byte[] image = new byte[PAGES * PAGE];
        Arrays.setAll(expected, page -> page % 4 == 0 ? new byte[PAGE] : Pages.of(5, page, PAGE));
        for (int page = 0; page < PAGES; page++) {
            System.arraycopy(expected[page], 0, image, page * PAGE, PAGE);
        }
        cluster.agent("b")
                .rest()
                .send("PUT", "/api/v1/spaces/golden/memory", "application/octet-stream", image)
                .expect(204);
        cluster.client().makeSnapshot("golden");
        cluster.client().makeClone("golden", new CloneRequest("clone"));
    }

    @AfterEach
    void end() {
        cluster.close();
        keeper.close();
    }

    private PagedRam begin(Guests guests) {
        Path socket = directory.resolve("guest");
        guests.tryAttach("clone", "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL_PAGES * PAGE))
                .expect(200);
        return PagedRam.handOver(socket, PAGES);
    }

    private void use(PagedRam ram, int operations) {
        for (int i = 0; i < operations; i++) {
            int page = random.nextInt(PAGES);
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    expected[page] = Pages.of(random.nextInt(), page, PAGE);
                    ram.write(page, expected[page]);
                }
                case 2 -> {
                    expected[page] = new byte[PAGE];
                    ram.remove(page);
                }
                default -> assertArrayEquals(expected[page], ram.read(page), "page " + page);
            }
        }
    }

    private void checkAll(PagedRam ram) {
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(expected[page], ram.read(page), "page " + page);
        }
    }

    private boolean isWhole() throws Exception {
        for (Extent extent : cluster.client().extents("clone").orElseThrow().extents()) {
            if (extent.joining().isPresent() || extent.isShortOf(2)) {
                return false;
            }
        }
        return true;
    }

    @Test
    void shouldShowNoWrongPageWhenAgentAndHomeAreKilled() throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        try (PagedRam ram = begin(guests)) {
            guests.awaitAttached("clone");
            for (int kill = 0; kill < 3; kill++) {
                // At first about when room is requested for the first extents.
                use(ram, LOCAL_PAGES + kill * 4 * PAGES);
                String before = cluster.incarnation("a");
                cluster.process("a").process().kill();
                cluster.startAgent("a", kept);
                cluster.awaitActive("a", before);
                use(ram, PAGES);
            }
            checkAll(ram);
            await("each changed extent has two homes", Deadlines.LONG)
                    .ignoreExceptions()
                    .until(this::isWhole);
            cluster.process("b").process().kill();
            use(ram, 4 * PAGES);
            checkAll(ram);
        }
        var ended = guests.awaitEnded("clone");
        assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        assertTrue(cluster.client().space("clone").orElseThrow().torn().isEmpty());
        try (PagedRam ram = begin(guests)) {
            checkAll(ram);
        }
    }
}
