package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmCommands;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Memory of a guest is what was written to it, whatever happens meanwhile. */
@NeedsUserfaultfd
@Tag("processes")
class GuestStressTest {
    private static final long MIB = 1 << 20;
    private static final long MEMORY = 16 * MIB;

    private static final Cluster cluster = Cluster.startProcess();

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void startNodes() {
        for (String node : List.of("a", "b")) {
            cluster.launchAgent(node, Map.of("pool.exported", "64MiB", "fetch.deadline", "1s", "shard.count", "2"))
                    .awaitListening();
        }
        cluster.awaitAllLinks();
    }

    @AfterAll
    static void stopNodes() {
        cluster.close();
    }

    /** Resizes, and collections in the agent, which no fault that is pending may hold up. */
    @ParameterizedTest
    @CsvSource({"1, 999999", "2, 300000", "4, 300000"})
    @Tag("soak")
    void shouldFindNoDifferenceUnderResizesAndCollections(int pagers, int operations) throws Exception {
        resizeAndCollect(pagers, Soak.part(operations), Soak.part(5));
    }

    @ParameterizedTest
    @CsvSource("4, 12000")
    void shouldFindNoDifferenceUnderAFewResizesAndCollections(int pagers, int operations) throws Exception {
        resizeAndCollect(pagers, operations, 1);
    }

    private void resizeAndCollect(int pagers, int operations, int least) throws Exception {
        SplittableRandom random = new SplittableRandom(1);
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("million", socket(), MEMORY, 4 * MIB);
        long agent = cluster.process("a").process().pid();
        try (ChildJvm stress = stress(pagers, operations)) {
            int collections = 0;
            guests.awaitAttached("million");
            while (stress.isAlive()) {
                guests.resize("million", random.nextInt(1, 13) * MIB);
                if (JvmCommands.collectGarbage(agent)) {
                    collections++;
                }
            }
            check(stress, operations);
            JsonNode status = guests.awaitEnded("million");
            assertEquals(pagers, status.get("pagers").size());
            assertTrue(collections >= least, "only " + collections + " collections");
            assertTrue(status.get("evictions").asInt() > operations / 20, status.toString());
            assertTrue(status.get("removedPages").asInt() > operations / 100, status.toString());
            assertTrue(status.get("peakResidentPages").asInt() <= 12 * 256, status.toString());
        } finally {
            guests.drop("million");
        }
    }

    /** Limits move between the pagers while the kernel's count of the memory file's pages is looked at. */
    @Test
    @Tag("soak")
    void shouldNeverHaveMoreResidentThanTheLimitOfAllPagersTogether() throws Exception {
        watchTheLimit(Soak.part(300_000), Soak.part(50));
    }

    @Test
    @Tag("soak")
    void shouldKeepAllPagersTogetherWithinTheLimitForAWhile() throws Exception {
        watchTheLimit(60_000, 5);
    }

    private void watchTheLimit(int operations, int leastLooks) throws Exception {
        int limit = 2048;
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("bounded", socket(), MEMORY, limit * 4096L);
        try (ChildJvm stress = stress(4, operations)) {
            guests.awaitAttached("bounded");
            Path file = ProcFs.memoryFile(stress.pid());
            int looks = 0;
            long most = 0;
            Set<Integer> limits = new HashSet<>();
            while (stress.isAlive()) {
                OptionalLong pages = ProcFs.pages(file);
                if (pages.isEmpty()) {
                    break;
                }
                looks++;
                most = Math.max(most, pages.getAsLong());
                JsonNode pagers = guests.status("bounded").get("pagers");
                pagers.forEach(one -> limits.add(one.get("localLimitPages").asInt()));
            }
            check(stress, operations);
            System.out.println(looks + " looks, at most " + most + " pages, limits of one pager " + limits.size());
            assertTrue(looks > leastLooks, looks + " looks");
            assertTrue(most <= limit, most + " pages");
            assertTrue(most > limit / 2, most + " pages");
        } finally {
            guests.drop("bounded");
        }
    }

    /**
     * The home stands still for longer than the deadline, the link is lost, the coordinator is killed: the guest waits,
     * and goes on.
     */
    @Test
    @Tag("soak")
    @Tag("long")
    void shouldFindNoDifferenceWhenHomeStallsAndCoordinatorDies() throws Exception {
        standStill(2, Math.max(150_000, Soak.part(399_999)));
    }

    @Test
    @Tag("soak")
    @Tag("long")
    void shouldFindNoDifferenceWhenHomeStallsAndCoordinatorDiesOnce() throws Exception {
        standStill(1, 150_000);
    }

    private void standStill(int rounds, int operations) throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("faults", socket(), MEMORY, 2 * MIB);
        try (ChildJvm stress = stress(2, operations)) {
            guests.awaitAttached("faults");
            for (int round = 0; round < rounds; round++) {
                guests.awaitFaults("faults", 500);
                cluster.process("b").process().stop();
                Thread.sleep(Duration.ofMillis(2_500));
                assertTrue(stress.isAlive(), "the guest went on without its home: " + stress.out());
                cluster.process("b").process().resume();
                guests.awaitFaults("faults", 500);
                cluster.coordinatorProcess().process().kill();
                guests.awaitFaults("faults", 500);
                cluster.coordinatorProcess().restart();
            }
            check(stress, operations);
            assertTrue(guests.awaitEnded("faults").get("evictions").asInt() > operations / 40);
        } finally {
            guests.drop("faults");
        }
    }

    /** What a guest leaves behind when it ends is at its home: pages that were here, pages that were not, and zeros. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void shouldLeaveTheMemoryAtItsHomeWhenTheVmmEnds(int pagers) {
        int pages = 2048;
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("saved", socket(), pages * 4096L, MIB);
        try {
            try (PagedRam ram = PagedRam.handOver(socket(), pages, pagers)) {
                for (int round = 1; round <= 2; round++) {
                    for (int page = 0; page < pages; page++) {
                        ram.write(page, page % 3 == round ? new byte[4096] : Pages.of(round, page, 4096));
                    }
                }
            }
            guests.awaitEnded("saved");
            guests.forget("saved");
            for (int page = 0; page < pages; page += 7) {
                byte[] found =
                        cluster.agent("b").page("saved", page).expect(200).body();
                assertArrayEquals(page % 3 == 2 ? new byte[4096] : Pages.of(2, page, 4096), found, "page " + page);
            }
        } finally {
            guests.drop("saved");
        }
    }

    private ChildJvm stress(int pagers, int operations) {
        return ChildJvm.start(
                "stress",
                Main.class,
                List.of(
                        "stress",
                        "--socket=" + socket(),
                        "--memory=16MiB",
                        "--pagers=" + pagers,
                        "--operations=" + operations));
    }

    private static void check(ChildJvm stress, int operations) {
        await("the end of the operations", Duration.ofMinutes(4)).until(() -> !stress.isAlive());
        assertEquals(0, stress.awaitEnd(), () -> stress.out() + stress.err());
        JsonNode result = new JsonMapper().readTree(stress.out());
        assertEquals(operations, result.get("operations").asInt(), stress.out());
        assertEquals(0, result.get("mismatches").asInt(), stress.out());
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
