package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Net;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Agents with several shards: guests spread over them, a queue pair for each of them. */
@Tag("soak")
class ShardsTest {
    private static final int PAGES = 1024;
    private static final long LOCAL = 320 * 4096L;

    @SuppressWarnings("NullAway.Init") // set by the test
    private Cluster cluster;

    @TempDir
    private Path directory = Path.of("");

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @AfterEach
    void end() {
        cluster.close();
    }

    private void start(int shardsOfA, int shardsOfB) {
        cluster = Cluster.start();
        launch("a", shardsOfA);
        launch("b", shardsOfB);
        cluster.awaitAllLinks();
    }

    private AgentProcess launch(String node, int shards) {
        return cluster.launchAgent(
                node,
                Map.of(
                        "pool.exported", "32MiB",
                        "pool.staging", "8MiB",
                        "fetch.deadline", "5s",
                        "shard.count", Integer.toString(shards)));
    }

    @NeedsUserfaultfd
    @Test
    void shouldMovePagesThroughAllShardsAndGetAllLinksBack() {
        requireAllLinksBack(2, 2);
    }

    @ParameterizedTest
    @CsvSource({"3, 1", "1, 4"})
    void shouldMovePagesThroughAllShardsWhenShardCountsDiffer(int shardsOfA, int shardsOfB) {
        requireAllLinksBack(shardsOfA, shardsOfB);
    }

    private void requireAllLinksBack(int shardsOfA, int shardsOfB) {
        Optional<String> cannot = Net.cannotBreak();
        assumeTrue(cannot.isEmpty(), cannot.orElse(""));
        start(shardsOfA, shardsOfB);
        int parts = Math.max(2, shardsOfA);
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("one", socket("one"), PAGES * 4096L, LOCAL);
        guests.attach("other", socket("other"), PAGES * 4096L, LOCAL);
        try (PagedRam one = PagedRam.handOver(socket("one"), PAGES, parts);
                PagedRam other = PagedRam.handOver(socket("other"), PAGES, 1)) {
            write(1, one, other);
            for (int round = 2; round < 5; round++) {
                assertAllUp("a", shardsOfA);
                assertAllUp("b", shardsOfB);
                Net.breakConnectionsTo(port(round % 2 == 0 ? "a" : "b"));
                check(round - 1, one, other);
                write(round, one, other);
            }
            check(4, one, other);
            cluster.awaitAllLinks();
            assertAllUp("a", shardsOfA);
            assertAllUp("b", shardsOfB);
            assertSpread(guests, parts, shardsOfA);
        }
        guests.awaitEnded("one");
        guests.awaitEnded("other");
    }

    private static void write(int version, PagedRam... all) {
        for (int page = 0; page < PAGES; page++) {
            for (PagedRam ram : all) {
                ram.write(page, Pages.of(version, page, 4096));
            }
        }
    }

    private static void check(int version, PagedRam... all) {
        for (int page = 0; page < PAGES; page++) {
            for (PagedRam ram : all) {
                assertArrayEquals(Pages.of(version, page, 4096), ram.read(page), "page " + page);
            }
        }
    }

    /** One pager for each part, on all shards, and every one with work. */
    private static void assertSpread(Guests guests, int parts, int shards) {
        List<JsonNode> pagers = new ArrayList<>();
        JsonNode one = guests.status("one");
        one.get("pagers").forEach(pagers::add);
        assertEquals(parts, pagers.size(), one.toString());
        assertEquals(
                PAGES, pagers.stream().mapToInt(p -> p.get("pages").asInt()).sum(), one.toString());
        int states = one.get("residentPages").asInt()
                + one.get("remotePages").asInt()
                + one.get("zeroPages").asInt()
                + one.get("lostPages").asInt();
        assertEquals(PAGES, states, one.toString());
        guests.status("other").get("pagers").forEach(pagers::add);
        assertEquals(parts + 1, pagers.size());
        Set<Integer> used = new TreeSet<>();
        for (JsonNode pager : pagers) {
            assertTrue(pager.get("faults").asInt() > 0, pager.toString());
            used.add(pager.get("shard").asInt());
        }
        assertEquals(shards, used.size(), "shards " + used);
        assertTrue(one.get("evictions").asInt() > PAGES, one.toString());
    }

    /** A node that starts anew, with another number of shards, is linked with again. */
    @Test
    void shouldLinkWithAPeerThatComesBackWithMoreShards() throws Exception {
        start(2, 1);
        for (int shards : new int[] {4, 1, 3}) {
            String before = cluster.incarnation("b");
            cluster.process("b").process().kill();
            launch("b", shards).awaitListening();
            cluster.awaitActive("b", before);
            cluster.awaitAllLinks();
            assertAllUp("a", 2);
            assertAllUp("b", shards);
        }
    }

    /**
     * The part that faults gets the pages of the one that does not, and back; never do both together have more than the
     * limit.
     */
    @NeedsUserfaultfd
    @Test
    void shouldMoveTheLimitToWhereTheFaultsAre() {
        start(2, 1);
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("moving", socket("moving"), PAGES * 4096L, LOCAL);
        try (PagedRam ram = PagedRam.handOver(socket("moving"), PAGES, 2)) {
            Path file = ProcFs.memoryFile(ProcessHandle.current().pid());
            SplittableRandom random = new SplittableRandom(1);
            int[] versions = new int[PAGES];
            long most = 0;
            for (int part : new int[] {0, 1, 0}) {
                BooleanSupplier moved = () -> guests.status("moving")
                                .get("pagers")
                                .get(part)
                                .get("localLimitPages")
                                .asInt()
                        > 240;
                for (int step = 1; !moved.getAsBoolean(); step++) {
                    for (int i = 0; i < 100; i++) {
                        int page = part * PAGES / 2 + random.nextInt(PAGES / 2);
                        ram.write(page, Pages.of(++versions[page], page, 4096));
                    }
                    most = Math.max(most, ProcFs.pages(file).orElseThrow());
                    assertTrue(step < 2000, () -> "the limit stays: " + guests.status("moving"));
                }
            }
            assertTrue(most <= LOCAL / 4096, most + " pages");
            for (int page = 0; page < PAGES; page++) {
                byte[] expected = versions[page] == 0 ? new byte[4096] : Pages.of(versions[page], page, 4096);
                assertArrayEquals(expected, ram.read(page), "page " + page);
            }
            guests.resize("moving", 128 * 4096L);
            await("the new limit", Deadlines.SHORT)
                    .until(() -> ProcFs.pages(file).orElseThrow() <= 128);
            guests.tryResize("moving", 127 * 4096L).expect(400);
        }
        JsonNode ended = guests.awaitEnded("moving");
        assertTrue(ended.get("peakResidentPages").asInt() <= LOCAL / 4096, ended.toString());
    }

    /** What was here when a guest ended is fetched ahead for the next, however either of them was cut. */
    @NeedsUserfaultfd
    @Test
    void shouldPrefetchResidentPagesWhenTheNumberOfPagersChanges() {
        start(2, 1);
        Guests guests = new Guests(cluster, "a", "b");
        for (int parts : new int[] {2, 3, 1}) {
            guests.attach("again", socket("again"), PAGES * 4096L, 4 * PAGES * 4096L);
            try (PagedRam ram = PagedRam.handOver(socket("again"), PAGES, parts)) {
                guests.awaitAttached("again");
                if (parts == 2) {
                    write(1, ram);
                } else {
                    await("all of it here, unasked", Deadlines.SHORT)
                            .until(() ->
                                    guests.status("again").get("residentPages").asInt() == PAGES);
                    assertEquals(0, guests.status("again").get("faults").asInt());
                }
                check(1, ram);
            }
            JsonNode ended = guests.awaitEnded("again");
            assertEquals("its VMM has unmapped its memory", ended.get("detail").asString());
            guests.forget("again");
        }
    }

    private void assertAllUp(String node, int shards) {
        await("all queue pairs of " + node, Deadlines.LONG).untilAsserted(() -> {
            JsonNode link = cluster.agent(node)
                    .rest()
                    .get("/api/v1/links")
                    .expect(200)
                    .json()
                    .get(0);
            assertEquals("up", link.get("state").asString(), link.toString());
            assertEquals(shards, link.get("queuePairs").size(), link.toString());
            for (JsonNode queuePair : link.get("queuePairs")) {
                assertEquals("up", queuePair.get("state").asString(), link.toString());
            }
        });
    }

    /** Where a node's memory is reached over TCP. */
    private int port(String node) {
        try {
            return cluster.client()
                    .call(NodeOperations.ENDPOINTS.at(node))
                    .getFirst()
                    .entries()
                    .getFirst()
                    .port()
                    .orElseThrow();
        } catch (io.farpage.coordinator.client.CoordinatorException e) {
            throw new IllegalStateException(e);
        }
    }

    private Path socket(String name) {
        return directory.resolve(name);
    }
}
