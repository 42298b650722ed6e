package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.Main;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
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

/** Extents of a space that no guest uses get another home, which reads the pages itself. */
@NeedsUserfaultfd
@Tag("processes")
class UnattendedRepairTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 640;
    private static final int ROUNDS = 10;
    private static final int LIMIT = 128;
    private static final String VM = "vm";

    /** Slow enough that something can happen in the midst of a copy of 2.5 MiB. */
    private static final String FAST = "100MiB";

    private static final String SLOW = "256KiB";

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Guests guests;

    /** The version of the content of each page; 0 are zeros. */
    private final Map<Integer, Long> versions = new HashMap<>();

    private long version;

    @BeforeEach
    void start() {
        start(Cluster.start());
    }

    private void start(Cluster coordinator) {
        cluster = coordinator;
        cluster.openAgent("a", Map.of("pool.exported", "2MiB"));
        guests = new Guests(cluster, "a", "b");
    }

    private void open(String rate, String... nodes) {
        List.of(nodes).forEach(node -> cluster.openAgent(node, home(rate)));
        cluster.awaitAllLinks();
    }

    /** Those that will be killed. */
    private void launch(String rate, String... nodes) {
        List.of(nodes).forEach(node -> cluster.launchAgent(node, home(rate)));
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    private static Map<String, String> home(String rate) {
        return Map.of("pool.exported", "6MiB", "mirror.repair_rate", rate);
    }

    private void create(int replicas, String... homes) throws CoordinatorException {
        cluster.client()
                .createSpace(
                        new SpaceRequest(VM, (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(homes)))
                                .withReplicas(replicas));
    }

    /** A guest checks what it reads, writes some pages and ends. */
    private void useByAGuest(SplittableRandom random) {
        guests.attach(VM, directory.resolve(VM), (long) PAGES * PAGE, (long) LIMIT * PAGE);
        try (PagedRam ram = PagedRam.handOver(directory.resolve(VM), PAGES)) {
            for (int i = 0; i < PAGES / 2; i++) {
                int page = random.nextInt(PAGES);
                assertArrayEquals(content(page), ram.read(page), "page " + page);
                versions.put(page, ++version);
                ram.write(page, content(page));
            }
        }
        guests.awaitEnded(VM);
        guests.forget(VM);
    }

    private byte[] content(int page) {
        return Optional.ofNullable(versions.get(page))
                .map(now -> Pages.of(now, page, PAGE))
                .orElseGet(() -> new byte[PAGE]);
    }

    private List<Extent> extents() throws CoordinatorException {
        return cluster.client().extents(VM).orElseThrow().extents();
    }

    private static Set<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
    }

    private void awaitHomes(String... homes) {
        await("homes " + List.of(homes), Deadlines.LONG.multipliedBy(2))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> extents().stream().allMatch(extent -> names(extent).equals(Set.of(homes))));
    }

    private void awaitDrained(String node) {
        await("the drain of " + node, Deadlines.LONG.multipliedBy(2))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> cluster.client().drained(node).drained());
    }

    private String awaitPulling() {
        return await("a home that joins", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(5))
                .until(
                        () -> extents().stream()
                                .flatMap(extent -> extent.joining().stream())
                                .map(ExtentHome::node)
                                .findFirst(),
                        Optional::isPresent)
                .orElseThrow();
    }

    private void compare() throws CoordinatorException {
        for (Extent extent : extents()) {
            assertEquals(ExtentState.OK, extent.state());
        }
        assertTrue(cluster.client().space(VM).orElseThrow().torn().isEmpty());
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    content(page), cluster.agent("a").page(VM, page).expect(200).body(), "page " + page);
        }
    }

    @Test
    void shouldEmptyANodeOfPagesThatHaveNoOtherHome() throws Exception {
        launch(FAST, "b");
        open(FAST, "c", "d");
        create(1, "b");
        useByAGuest(new SplittableRandom(31));
        cluster.client().drain("b");
        awaitDrained("b");
        cluster.process("b").process().kill();
        compare();
    }

    @Test
    @Tag("soak")
    void shouldReplaceAKilledHomeAndThenEmptyTheOther() throws Exception {
        launch(FAST, "b", "c");
        open(FAST, "d");
        create(2, "b", "c");
        useByAGuest(new SplittableRandom(32));
        cluster.process("b").process().kill();
        awaitHomes("c", "d");
        String before = cluster.incarnation("b");
        cluster.startAgent("b", home(FAST));
        cluster.awaitActive("b", before);
        cluster.client().drain("c");
        awaitDrained("c");
        awaitHomes("b", "d");
        cluster.process("c").process().kill();
        compare();
    }

    @Test
    void shouldTellHowMuchOfAPullIsCopied() throws Exception {
        open(FAST, "b");
        open(SLOW, "c", "d");
        create(1, "b");
        assertTrue(cluster.client().repair(VM).orElseThrow().whole());
        cluster.client().drain("b");
        await("a part that is copied", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    Repair repair = cluster.client().repair(VM).orElseThrow();
                    return repair.copiedBytes() > 0 && repair.copiedBytes() < repair.bytes();
                });
        Drain drain = cluster.client().drained("b");
        assertTrue(drain.copiedBytes().orElseThrow() > 0, drain.toString());
        assertEquals(cluster.client().space(VM).orElseThrow().storedPages() * PAGE, drain.bytes());
        try (ChildJvm waits = ChildJvm.start(
                "waits",
                Main.class,
                List.of(
                        "space",
                        "show",
                        VM,
                        "--wait=30s",
                        "--coordinator=" + cluster.coordinator().rest().base()))) {
            assertEquals(0, waits.awaitEnd(), waits.err());
            assertTrue(waits.out().startsWith("space vm (id "), waits.out());
            assertEquals("", waits.err(), "no progress without a terminal");
        }
        assertTrue(cluster.client().repair(VM).orElseThrow().whole());
        awaitDrained("b");
    }

    @Test
    void shouldLetAGuestAttachInTheMidstOfAPull() throws Exception {
        launch(FAST, "b");
        open(SLOW, "c", "d");
        create(1, "b");
        SplittableRandom random = new SplittableRandom(33);
        useByAGuest(random);
        try (JvmLog pullers = new JvmLog()) {
            cluster.client().drain("b");
            var _ = awaitPulling();
            useByAGuest(random);
            awaitDrained("b");
            assertTrue(
                    pullers.lines().stream().anyMatch(line -> line.contains("in epoch 1 ends: ")),
                    "the pull was under way when the guest came");
        }
        cluster.process("b").process().kill();
        compare();
    }

    /**
     * Round after round something happens in the midst of a pull, or nothing; the pages are read by a guest in between.
     */
    @Test
    @Tag("soak")
    void shouldLoseNoPageWhateverHappensInTheMidstOfAPull() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        cluster.close();
        start(Cluster.startProcess());
        launch(SLOW, "b", "c", "d");
        cluster.awaitAllLinks();
        create(2, "b", "c");
        useByAGuest(random);
        for (int round = 0; round < Soak.part(ROUNDS); round++) {
            String drained =
                    names(extents().getFirst()).stream().sorted().findFirst().orElseThrow();
            cluster.client().drain(drained);
            String puller = awaitPulling();
            int what = random.nextInt(5);
            System.out.println("round " + round + ": drain " + drained + " to " + puller + ", event " + what);
            switch (what) {
                case 0 -> useByAGuest(random);
                case 1 -> startAnew(puller);
                case 2 -> {
                    cluster.coordinatorProcess().process().kill();
                    cluster.coordinatorProcess().restart();
                }
                case 3 -> {
                    cluster.process(puller).process().stop();
                    useByAGuest(random);
                    cluster.process(puller).process().resume();
                }
                default -> {}
            }
            awaitDrained(drained);
            startAnew(drained);
            cluster.client().cancelDrain(drained);
            useByAGuest(random);
        }
        compare();
    }

    private void startAnew(String node) throws CoordinatorException {
        String before = cluster.incarnation(node);
        cluster.process(node).process().kill();
        cluster.startAgent(node, home(SLOW));
        cluster.awaitActive(node, before);
        cluster.awaitAllLinks();
    }
}
