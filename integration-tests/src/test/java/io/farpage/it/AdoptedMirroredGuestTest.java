package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The agent of a guest whose pages have two homes is killed and started again, also while a home fails or another one
 * joins.
 */
@NeedsUserfaultfd
@Tag("processes")
class AdoptedMirroredGuestTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 384;
    private static final int LOCAL_PAGES = 64;
    private static final int KILLS = Soak.part(Integer.getInteger("farpage.kills", 12));
    /** Room for one copy of all pages. */
    private static final Map<String, String> HOME = Map.of("pool.exported", "2MiB");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private KeeperProcess keeper;

    private final Map<String, String> kept = new HashMap<>(HOME);
    private long longest;

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        keeper = KeeperProcess.start("a", directory.resolve("a.keeper"));
        kept.putAll(keeper.settings());
    }

    @AfterEach
    void end() {
        cluster.close();
        keeper.close();
    }

    private Guests attach(String homes, String... nodes) {
        cluster.launchAgent("a", kept);
        for (String node : nodes) {
            cluster.launchAgent(node, HOME);
        }
        cluster.awaitAllLinks();
        Guests guests = new Guests(cluster, "a", "b");
        Path socket = directory.resolve("guest");
        guests.tryAttach("vm", """
                        {"socket": "%s", "sizeBytes": %d, "homes": [%s], "replicas": 2, \
                        "localBytes": %d}""".formatted(socket, PAGES * PAGE, homes, LOCAL_PAGES * PAGE))
                .expect(200);
        return guests;
    }

    /**
     * The coordinator drops the home when its lease has run out: until then no process has the space, and could ask for
     * that.
     */
    @Test
    void shouldGoOnWithItsGuestWhenAHomeIsKilledWithTheAgent() throws Exception {
        Guests guests = attach("\"b\", \"c\"", "b", "c");
        try (ShadowedRam ram = ShadowedRam.start(directory.resolve("guest"), PAGES, 2, 11)) {
            ram.forgetUserfaultfd();
            guests.awaitAttached("vm");
            guests.awaitEvictions("vm", PAGES, new SplittableRandom(11));
            String before = cluster.incarnation("a");
            cluster.process("a").process().kill();
            long killed = System.nanoTime();
            cluster.process("b").process().kill();
            goOn(ram, before, killed);
            guests.awaitEvictions("vm", PAGES, new SplittableRandom(12));
            finish(guests, ram);
        }
        for (Extent extent : cluster.client().extents("vm").orElseThrow().extents()) {
            assertEquals("c", extent.primary().node());
            assertTrue(extent.homes().stream().noneMatch(home -> home.node().equals("b")), extent::toString);
        }
    }

    /** Four homes; the guest's node is one of them: there is always room for a copy in place of one that was lost. */
    @Test
    @Tag("soak")
    @Timeout(900)
    void shouldShowNoWrongPageWhenAgentAndHomesAreKilledManyTimes() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        Guests guests = attach("\"a\", \"b\", \"c\", \"d\"", "b", "c", "d");
        try (ShadowedRam ram = ShadowedRam.start(directory.resolve("guest"), PAGES, 3, random.nextLong())) {
            ram.forgetUserfaultfd();
            guests.awaitAttached("vm");
            for (int kill = 0; kill < KILLS; kill++) {
                guests.awaitEvictions("vm", PAGES / 4 + random.nextInt(PAGES), random);
                failOnce(ram, random);
                assertEquals(List.of(), ram.mismatches());
            }
            guests.awaitEvictions("vm", PAGES, random);
            finish(guests, ram);
            System.out.printf(
                    "%d operations over %d kills, 0 wrong; longest pause of the guest %.1f s%n",
                    ram.operations(), KILLS, longest / 1e9);
        }
    }

    /** Kills the agent, with or without a home; another home may be joining instead of the one before. */
    private void failOnce(ShadowedRam ram, SplittableRandom random) throws Exception {
        if (random.nextInt(3) == 0) {
            succeed(ram);
            return;
        }
        await("two copies of every page", Deadlines.LONG.multipliedBy(2))
                .ignoreExceptions()
                .until(this::isWhole);
        String home = List.of("b", "c", "d").get(random.nextInt(3));
        String before = cluster.incarnation(home);
        System.out.println("home " + home + " is killed");
        cluster.process(home).process().kill();
        TimeUnit.MILLISECONDS.sleep(random.nextBoolean() ? 0 : random.nextInt(1500));
        if (random.nextBoolean()) {
            cluster.startAgent(home, HOME);
            succeed(ram);
        } else {
            succeed(ram);
            cluster.startAgent(home, HOME);
        }
        cluster.awaitActive(home, before);
    }

    private boolean isWhole() throws Exception {
        for (Extent extent : cluster.client().extents("vm").orElseThrow().extents()) {
            if (extent.homes().size() < 2 || extent.joining().isPresent()) {
                return false;
            }
        }
        return true;
    }

    private void succeed(ShadowedRam ram) throws Exception {
        String incarnation = cluster.incarnation("a");
        cluster.process("a").process().kill();
        goOn(ram, incarnation, System.nanoTime());
    }

    private void goOn(ShadowedRam ram, String before, long killed) {
        cluster.startAgent("a", kept);
        cluster.awaitActive("a", before);
        long pause = ram.awaitProgress(killed);
        longest = Math.max(longest, pause);
        System.out.printf("the guest goes on %.1f s after its agent was killed%n", pause / 1e9);
    }

    private void finish(Guests guests, ShadowedRam ram) throws Exception {
        ram.stop();
        assertEquals(List.of(), ram.mismatches());
        ram.close();
        var ended = guests.awaitEnded("vm");
        assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        for (Extent extent : cluster.client().extents("vm").orElseThrow().extents()) {
            assertEquals(ExtentState.OK, extent.state());
        }
    }
}
