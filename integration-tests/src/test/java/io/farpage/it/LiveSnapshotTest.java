package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Snapshots of guests on node a that run: each has the pages of its moment, whatever the guest writes since. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@NeedsUserfaultfd
class LiveSnapshotTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 4 * 512;
    private static final long LOCAL = 2 << 20;

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;
    private Guests onA;
    private Guests onB;

    @BeforeAll
    void start() throws CoordinatorException {
        cluster = Cluster.start(Map.of());
        cluster.openAgent("a", Map.of("pool.exported", "2MiB"));
        cluster.openAgent("b", Map.of("pool.exported", "96MiB"));
        cluster.openAgent("c", Map.of("pool.exported", "96MiB"));
        cluster.awaitAllLinks();
        onA = new Guests(cluster, "a", "b");
        onB = new Guests(cluster, "b", "c");
    }

    @AfterAll
    void close() {
        cluster.close();
    }

    @AfterEach
    void dropAll() {
        // Clones first: a snapshot that has one is not deleted.
        await("all spaces are gone", Deadlines.LONG).ignoreExceptions().until(() -> {
            List<Space> spaces = cluster.client().spaces();
            for (Space space : spaces) {
                if (spaces.stream().noneMatch(each -> each.base().equals(OptionalLong.of(space.id())))) {
                    cluster.client().deleteSpace(space.name());
                }
            }
            return cluster.client().overview(NodeFilter.ALL).totals().usedBytes() == 0;
        });
    }

    /** A guest, and what it must read. */
    private record Running(Guests node, String name, PagedRam ram, List<byte[]> expected) {
        void write(int page, byte[] bytes) {
            ram.write(page, bytes);
            expected.set(page, bytes);
        }

        void remove(int page) {
            ram.remove(page);
            expected.set(page, new byte[PAGE]);
        }

        void check(int page) {
            assertArrayEquals(expected.get(page), ram.read(page), name + ", page " + page);
        }

        void checkAll() {
            for (int page = 0; page < PAGES; page++) {
                check(page);
            }
        }

        /** Random stores, removals and loads. */
        void use(int operations, SplittableRandom random, boolean removes) {
            for (int i = 0; i < operations; i++) {
                int page = random.nextInt(PAGES);
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> write(page, Pages.of(random.nextInt(), page, PAGE));
                    case 3 -> {
                        if (removes) {
                            remove(page);
                        } else {
                            write(page, new byte[PAGE]);
                        }
                    }
                    default -> check(page);
                }
            }
        }

        List<byte[]> now() {
            return new ArrayList<>(expected);
        }

        void end() {
            ram.close();
            node.awaitEnded(name);
        }
    }

    private void makeSpace(String name, boolean isThin, int replicas) throws CoordinatorException {
        SpaceRequest plain = new SpaceRequest(
                name,
                (long) PAGES * PAGE,
                OptionalInt.of(PAGE),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                replicas == 1 ? OptionalInt.empty() : OptionalInt.of(replicas));
        cluster.client().createSpace(isThin ? plain.asThin() : plain);
    }

    private Running begin(Guests node, String name, List<byte[]> expected) {
        Path socket = directory.resolve(name);
        node.tryAttach(name, "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL))
                .expect(200);
        return new Running(node, name, PagedRam.handOver(socket, PAGES), expected);
    }

    private static List<byte[]> zeros() {
        return IntStream.range(0, PAGES).mapToObj(_ -> new byte[PAGE]).collect(Collectors.toList());
    }

    /** Freezes the guest's pages, while it stands still. */
    private void snapshot(String space, String name) {
        post(space, "snapshot", name);
    }

    /** Protects the guest's pages, while it runs. */
    private JsonNode prepare(String space, String name) {
        return post(space, "snapshot/preparation", name).json();
    }

    private Answer post(String space, String what, String name) {
        return tryPost(space, what, name).expect(200);
    }

    private Answer tryPost(String space, String what, String name) {
        return cluster.agent("a")
                .rest()
                .send(
                        "POST",
                        "/api/v1/spaces/" + space + "/guest/" + what,
                        "application/json",
                        "{\"name\": \"%s\"}".formatted(name).getBytes(StandardCharsets.UTF_8));
    }

    private JsonNode status(String space) {
        return cluster.agent("a")
                .rest()
                .get("/api/v1/spaces/" + space + "/guest/snapshot")
                .expect(200)
                .json();
    }

    private void awaitMade(String space) {
        await("the snapshot is made or has failed", Deadlines.LONG)
                .until(() -> !status(space).get("state").asString().equals("saving"));
        assertEquals(
                "made",
                status(space).get("state").asString(),
                () -> status(space).toString());
    }

    /** A clone of a snapshot on another node has the pages of the moment, and keeps what its own guest writes. */
    private void checkClone(String snapshot, List<byte[]> moment) throws CoordinatorException {
        String name = "clone-of-" + snapshot;
        cluster.client().makeClone(snapshot, new CloneRequest(name));
        Running clone = begin(onB, name, new ArrayList<>(moment));
        clone.checkAll();
        clone.use(PAGES, new SplittableRandom(3), true);
        clone.checkAll();
        clone.end();
        Running again = begin(onB, name, clone.expected());
        again.checkAll();
        again.end();
    }

    @Test
    void shouldPauseTheVmmOnlyWhileItsMemoryIsFrozen() throws Exception {
        makeSpace("vm", false, 1);
        SplittableRandom random = new SplittableRandom(23);
        Running guest = begin(onA, "vm", zeros());
        guest.use(2 * PAGES, random, true);
        List<byte[]> moment = guest.now();
        Path told = directory.resolve("told");
        Command made = Command.agent(
                        "snapshot",
                        "create",
                        "--agent=" + cluster.agent("a").rest().base(),
                        "--space=vm",
                        "--name=golden",
                        "--pause=echo paused >>" + told,
                        "--resume=echo resumed >>" + told)
                .done();
        assertTrue(made.out().contains("snapshot 'golden' is made"), made::toString);
        assertEquals(List.of("paused", "resumed"), Files.readAllLines(told));
        guest.use(PAGES, random, true);
        checkClone("golden", moment);
        guest.checkAll();
        guest.end();
    }

    private void checkSnapshots(String space, boolean isThin, int replicas) throws Exception {
        makeSpace(space, isThin, replicas);
        SplittableRandom random = new SplittableRandom(17);
        Running guest = begin(onA, space, zeros());
        guest.use(2 * PAGES, random, true);
        List<byte[]> first = guest.now();
        snapshot(space, space + "-1");
        // The snapshot goes on, whether the agent refuses that or has made it already.
        assertNotEquals(
                404, tryPost(space, "snapshot/preparation", space + "-3").status());
        guest.use(PAGES, random, false);
        awaitMade(space);
        guest.use(2 * PAGES, random, true);
        checkClone(space + "-1", first);
        assertTrue(prepare(space, space + "-2").get("protectedBytes").asLong() > 0);
        guest.use(PAGES, random, true);
        List<byte[]> second = guest.now();
        snapshot(space, space + "-2");
        guest.use(PAGES, random, false);
        awaitMade(space);
        guest.use(PAGES, random, true);
        guest.checkAll();
        checkClone(space + "-2", second);
        checkClone(space + "-1", first, "again");
        guest.end();
        Running next = begin(onA, space, guest.expected());
        next.checkAll();
        next.end();
        assertTrue(cluster.client().space(space).orElseThrow().torn().isEmpty());
    }

    private void checkClone(String snapshot, List<byte[]> moment, String suffix) throws CoordinatorException {
        cluster.client().makeClone(snapshot, new CloneRequest(snapshot + suffix));
        Running clone = begin(onB, snapshot + suffix, moment);
        clone.checkAll();
        clone.end();
    }

    @Test
    void shouldKeepThePagesOfTheMoment() throws Exception {
        checkSnapshots("thick", false, 1);
    }

    @Test
    void shouldKeepThePagesOfTheMomentOfAThinSpace() throws Exception {
        checkSnapshots("thin", true, 1);
    }

    @Test
    void shouldKeepThePagesOfTheMomentOfAMirroredSpace() throws Exception {
        checkSnapshots("mirrored", false, 2);
    }
}
