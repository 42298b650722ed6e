package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.guest.vmm.GuestMemory;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.BorrowedHugepages;
import io.farpage.it.harness.Cluster;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The agent of a running guest is killed and started again, with a keeper: the guest goes on, and never sees a wrong
 * page.
 */
@NeedsUserfaultfd
@Tag("processes")
class AdoptedGuestTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 384;
    private static final int LOCAL_PAGES = 64;
    private static final int HUGEPAGES = 96;
    private static final int KILLS = Soak.part(Integer.getInteger("farpage.kills", 12));

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldGoOnWithItsGuestWhenTheAgentIsKilledAndStartedAgain() throws Exception {
        run(Ram.SMALL_PAGES, 1, List.of("b"), 2);
    }

    /** Fewer hugepages than the guest has: what the successor asks about must not take any. */
    @Test
    void shouldGoOnWithAGuestOnHugepagesWhenItsAgentRestarts() throws Exception {
        runOnHugepages(1, List.of("b"), 2);
    }

    /** The agent's own pool has a part of the pages, and three threads fault. */
    @Test
    @Tag("soak")
    void shouldShowTheGuestNoWrongPageWhenItsAgentIsKilledManyTimes() throws Exception {
        run(Ram.SMALL_PAGES, KILLS, List.of("b", "a"), 3);
    }

    @Test
    @Tag("soak")
    void shouldShowNoWrongHugepageWhenTheAgentIsKilledManyTimes() throws Exception {
        runOnHugepages(KILLS, List.of("b", "a"), 3);
    }

    @Test
    @Tag("soak")
    void shouldShowAMovingGuestNoWrongPageWhenItsAgentIsKilledOften() throws Exception {
        run(Ram.MOVING, KILLS, List.of("b", "a"), 3);
    }

    private void runOnHugepages(int kills, List<String> homes, int threads) throws Exception {
        try (BorrowedHugepages _ = BorrowedHugepages.take(LOCAL_PAGES + 8)) {
            run(Ram.HUGEPAGES, kills, homes, threads);
        }
    }

    /** What the memory of the guest is like. */
    private enum Ram {
        SMALL_PAGES(PAGE, PAGES),
        /** The guest gives up parts of pages, too. */
        HUGEPAGES(2 << 20, AdoptedGuestTest.HUGEPAGES),
        /** The guest unmaps and moves parts of it. */
        MOVING(PAGE, PAGES);

        private final int pageBytes;
        private final int pages;

        Ram(int pageBytes, int pages) {
            this.pageBytes = pageBytes;
            this.pages = pages;
        }

        long bytes() {
            return (long) pages * pageBytes;
        }

        long localBytes() {
            return (long) LOCAL_PAGES * pageBytes;
        }

        ShadowedRam start(Path socket, int threads, long seed) {
            return switch (this) {
                case SMALL_PAGES -> ShadowedRam.start(socket, pages, threads, seed);
                case HUGEPAGES -> ShadowedRam.start(socket, GuestMemory.Backing.HUGETLB, pages, threads, seed);
                case MOVING -> ShadowedRam.startMoving(socket, pages, threads, seed);
            };
        }
    }

    private void run(Ram kind, int kills, List<String> homes, int threads) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        Path socket = directory.resolve("guest");
        try (Cluster cluster = Cluster.start();
                KeeperProcess keeper = KeeperProcess.start("a", directory.resolve("a.keeper"))) {
            Map<String, String> kept = new HashMap<>(keeper.settings());
            kept.put("fetch.deadline", "60s");
            kept.put("guest.victim_cache", "16MiB");
            Map<String, String> room = Map.of("pool.exported", "512MiB", "pool.staging", "32MiB");
            kept.putAll(kind == Ram.HUGEPAGES ? room : Map.of());
            cluster.launchAgent("a", kept);
            cluster.openAgent("b", kind == Ram.HUGEPAGES ? room : Map.of());
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            guests.tryAttach("vm", """
                            {"socket": "%s", "sizeBytes": %d, "pageSize": %d, \
                            "homes": ["%s"], "localBytes": %d}""".formatted(
                            socket, kind.bytes(), kind.pageBytes, String.join("\", \"", homes), kind.localBytes()))
                    .expect(200);
            long longest = 0;
            long operations;
            try (ShadowedRam ram = kind.start(socket, threads, random.nextLong())) {
                ram.forgetUserfaultfd();
                guests.awaitAttached("vm");
                for (int kill = 0; kill < kills; kill++) {
                    guests.awaitEvictions("vm", kind.pages / 4 + random.nextInt(kind.pages), random);
                    String incarnation = cluster.incarnation("a");
                    cluster.process("a").process().kill();
                    long killed = System.nanoTime();
                    cluster.startAgent("a", kept);
                    cluster.awaitActive("a", incarnation);
                    long pause = ram.awaitProgress(killed);
                    longest = Math.max(longest, pause);
                    assertEquals(List.of(), ram.mismatches());
                }
                guests.awaitEvictions("vm", kind.pages, random);
                assertEquals(kind == Ram.MOVING, ram.moves() > 0);
                operations = ram.operations();
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
            }
            var ended = guests.awaitEnded("vm");
            assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
            assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
            System.out.printf(
                    "%d operations of %d threads over %d kills, 0 wrong; longest pause of the guest %.1f s%n",
                    operations, threads, kills, longest / 1e9);
        }
    }

    /** All pages are at their homes, so nothing is lost with the agent. Its successor detaches. */
    @Test
    void shouldDetachWholeSpaceWhenAgentIsKilledAfterItsGuestHasEnded() throws Exception {
        Path socket = directory.resolve("guest");
        try (Cluster cluster = Cluster.startProcess();
                KeeperProcess keeper = KeeperProcess.start("a", directory.resolve("a.keeper"))) {
            cluster.launchAgent("a", keeper.settings());
            cluster.openAgent("b", Map.of());
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            guests.attach("vm", socket, (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
            String incarnation = cluster.incarnation("a");
            try (ShadowedRam ram = ShadowedRam.start(socket, PAGES, 2, 7)) {
                guests.awaitAttached("vm");
                guests.awaitEvictions("vm", PAGES, new SplittableRandom(7));
                cluster.coordinatorProcess().process().kill();
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
            }
            guests.awaitEnded("vm");
            cluster.process("a").process().kill();
            cluster.coordinatorProcess().restart();
            cluster.startAgent("a", keeper.settings());
            cluster.awaitActive("a", incarnation);
            await("the detachment by its successor", Deadlines.LONG)
                    .until(() -> cluster.client().attachments("vm").isEmpty());
            assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        }
    }

    /** Without its space the guest cannot go on. It must not get zeros, and nothing else may begin on its memory. */
    @Test
    void shouldLeaveTheThreadsOfTheGuestStoppedWhenItsSpaceIsGone() throws Exception {
        Path socket = directory.resolve("guest");
        try (Cluster cluster = Cluster.start();
                KeeperProcess keeper = KeeperProcess.start("a", directory.resolve("a.keeper"))) {
            cluster.launchAgent("a", keeper.settings());
            cluster.openAgent("b", Map.of());
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            guests.attach("vm", socket, (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
            try (ShadowedRam ram = ShadowedRam.start(socket, PAGES, 2, 7)) {
                ram.forgetUserfaultfd();
                guests.awaitAttached("vm");
                guests.awaitEvictions("vm", PAGES, new SplittableRandom(7));
                cluster.process("a").process().kill();
                cluster.coordinator().rest().send("DELETE", "/api/v1/spaces/vm?force=true", "", new byte[0]);
                AgentProcess successor = cluster.startAgent("a", keeper.settings());
                await("the refusal", Deadlines.LONG)
                        .until(() -> successor.process().err().contains("is not adopted"));
                String log = successor.process().err();
                assertTrue(log.contains("its threads stay stopped; end its VMM (process "), log);
                assertTrue(
                        successor.rest().get("/metrics").text().contains("farpage_agent_guests_unserved 1.0"),
                        successor.rest().get("/metrics").text());
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
                successor.process().kill();
                keeper.process().kill();
            }
        }
    }
}
