package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
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

/** Guests of clones on node a with a memory file: what they change is evicted to homes of their own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@NeedsUserfaultfd
class ClonePagesTest {
    private static final int PAGE = 4096;
    private static final int EXTENT_PAGES = 512;
    private static final long EXTENT = (long) EXTENT_PAGES * PAGE;
    private static final int EXTENTS = 4;
    private static final int PAGES = EXTENTS * EXTENT_PAGES;
    private static final long LOCAL = 1 << 20;
    private static final int LOCAL_PAGES = (int) (LOCAL / PAGE);
    private static final int SEED = 5;

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;
    private Guests guests;

    @BeforeAll
    void start() throws CoordinatorException {
        cluster = Cluster.start(Map.of());
        cluster.openAgent("a", Map.of("pool.exported", "2MiB"));
        cluster.openAgent("b", Map.of("pool.exported", "24MiB"));
        // With more room than the others have: extents are filled over the wire first.
        cluster.openAgent("c", Map.of("pool.exported", "18MiB"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
        cluster.client()
                .createSpace(new SpaceRequest(
                        "golden", PAGES * (long) PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b"))));
        cluster.agent("a")
                .rest()
                .send("PUT", "/api/v1/spaces/golden/memory", "application/octet-stream", image())
                .expect(204);
        cluster.client().makeSnapshot("golden");
    }

    @AfterAll
    void close() {
        cluster.close();
    }

    @AfterEach
    void dropAll() throws CoordinatorException {
        assertArrayEquals(
                image(),
                cluster.agent("b")
                        .rest()
                        .get("/api/v1/spaces/golden/memory")
                        .expect(200)
                        .body(),
                "the snapshot has changed");
        dropHogs();
        cluster.client().spaces().stream()
                .filter(space -> space.base().isPresent())
                .forEach(space -> guests.drop(space.name()));
        await("all room is free", Deadlines.SHORT).until(() -> usedBytes() == snapshotBytes());
    }

    private long usedBytes() throws CoordinatorException {
        return cluster.client().overview(NodeFilter.ALL).totals().usedBytes();
    }

    private long snapshotBytes() throws CoordinatorException {
        return cluster.client().extents("golden").orElseThrow().extents().stream()
                        .mapToLong(Extent::count)
                        .sum()
                * PAGE;
    }

    private long freeBytes() throws CoordinatorException {
        return cluster.client().nodes().stream()
                        .filter(node -> node.status() == NodeStatus.ACTIVE)
                        .mapToLong(node -> node.pool().exportedBytes())
                        .sum()
                - usedBytes();
    }

    private static boolean isZeros(int page) {
        return page % 3 == 0;
    }

    private static byte[] original(int page) {
        return isZeros(page) ? new byte[PAGE] : Pages.of(SEED, page, PAGE);
    }

    private static byte[] image() {
        byte[] image = new byte[PAGES * PAGE];
        for (int page = 0; page < PAGES; page++) {
            System.arraycopy(original(page), 0, image, page * PAGE, PAGE);
        }
        return image;
    }

    /** A guest, and what it must read. */
    private record Clone(String name, PagedRam ram, List<byte[]> expected) {
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
    }

    private Clone begin(String name) throws CoordinatorException {
        cluster.client().makeClone("golden", new CloneRequest(name));
        return begin(
                name,
                IntStream.range(0, PAGES).mapToObj(ClonePagesTest::original).collect(Collectors.toList()));
    }

    private Clone begin(String name, List<byte[]> expected) {
        Path socket = directory.resolve(name);
        guests.tryAttach(name, "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL))
                .expect(200);
        return new Clone(name, PagedRam.handOver(socket, PAGES), expected);
    }

    private void end(Clone clone) {
        clone.ram().close();
        guests.awaitEnded(clone.name());
    }

    private List<Boolean> allocated(String space) throws CoordinatorException {
        return cluster.client().extents(space).orElseThrow().extents().stream()
                .map(Extent::isAllocated)
                .toList();
    }

    @Test
    void shouldKeepWhatEachCloneHasWritten() throws Exception {
        List<Clone> clones = new ArrayList<>(List.of(begin("one"), begin("two")));
        SplittableRandom random = new SplittableRandom(7);
        for (int step = 0; step < 6 * PAGES; step++) {
            Clone clone = clones.get(random.nextInt(clones.size()));
            int page = random.nextInt(PAGES);
            switch (random.nextInt(5)) {
                case 0, 1 -> clone.write(page, Pages.of(random.nextInt(), page, PAGE));
                case 2 -> clone.remove(page);
                default -> clone.check(page);
            }
        }
        for (Clone clone : clones) {
            clone.checkAll();
            JsonNode status = guests.status(clone.name());
            assertTrue(status.get("evictable").asBoolean(), status::toString);
            assertTrue(status.get("residentPages").asInt() <= LOCAL_PAGES, status::toString);
            end(clone);
        }
        for (Clone clone : clones) {
            Clone next = begin(clone.name(), clone.expected());
            next.checkAll();
            end(next);
        }
    }

    /** Pages of an extent that a guest gives up are zeros for the next one, although the snapshot has others. */
    @Test
    void shouldHidePagesOfTheSnapshotThatWereGivenUp() throws Exception {
        Clone clone = begin("ballooned");
        for (int page = 0; page < EXTENT_PAGES; page++) {
            clone.remove(page);
        }
        for (int page = EXTENT_PAGES; page < 2 * EXTENT_PAGES; page++) {
            if (!isZeros(page)) {
                clone.check(page);
            }
        }
        end(clone);
        assertEquals(List.of(true, false, false, false), allocated("ballooned").subList(0, EXTENTS));
        Clone next = begin("ballooned", clone.expected());
        next.checkAll();
        JsonNode status = guests.status("ballooned");
        assertTrue(status.get("fetchedFaults").asInt() <= 3 * EXTENT_PAGES, "zeros were fetched: " + status);
        end(next);
    }

    @Test
    void shouldKeepPagesThatGetNoRoomAndEvictWhatTheSnapshotHas() throws Exception {
        Clone clone = begin("roomless");
        for (int i = 0; i < 3; i++) {
            cluster.client().createSpace(SpaceRequest.of("hog" + i, freeBytes() / 4 / PAGE * PAGE));
        }
        for (int i = 3; freeBytes() > EXTENT; i++) {
            cluster.client().createSpace(SpaceRequest.of("hog" + i, Math.min(EXTENT, freeBytes())));
        }
        for (int page = 0; page < PAGES; page += 2) {
            clone.write(page, Pages.of(3, page, PAGE));
        }
        clone.checkAll();
        JsonNode full = guests.status("roomless");
        assertTrue(full.get("roomless").asBoolean(), full::toString);
        int resident = full.get("residentPages").asInt();
        // A page of zeros that was read counts as dirty until it is evicted.
        int dirty = full.get("dirtyPages").asInt();
        assertTrue(dirty >= PAGES / 2 && resident <= dirty + LOCAL_PAGES, full::toString);
        dropHogs();
        await("the limit holds again", Deadlines.LONG)
                .until(() -> guests.status("roomless").get("residentPages").asInt() <= LOCAL_PAGES);
        clone.checkAll();
        end(clone);
        Clone next = begin("roomless", clone.expected());
        next.checkAll();
        end(next);
    }

    private void dropHogs() throws CoordinatorException {
        cluster.client().spaces().stream()
                .filter(space -> space.name().startsWith("hog"))
                .forEach(space -> guests.drop(space.name()));
    }

    /** A clone whose guest has ended is saved, and is a snapshot itself. */
    @Test
    void shouldSaveACloneAndMakeClonesOfIt() throws Exception {
        Clone first = begin("first");
        for (int page = 100; page < EXTENT_PAGES; page++) {
            first.write(page, Pages.of(6, page, PAGE));
        }
        first.remove(1);
        end(first);
        await("the clone is not attached", Deadlines.SHORT)
                .until(() -> cluster.client().attachments("first").isEmpty());
        checkImage("first", first.expected());
        await("the clone is a snapshot", Deadlines.LONG)
                .ignoreExceptions()
                .until(() -> cluster.client().makeSnapshot("first").snapshot().isPresent());
        cluster.client().makeClone("first", new CloneRequest("second"));
        Clone second = begin("second", new ArrayList<>(first.expected()));
        second.checkAll();
        for (int page = 0; page < PAGES; page += 3) {
            second.write(page, Pages.of(7, page, PAGE));
        }
        second.checkAll();
        end(second);
        Clone again = begin("second", second.expected());
        again.checkAll();
        end(again);
        checkImage("first", first.expected());
        await("the clone is not attached", Deadlines.SHORT)
                .until(() -> cluster.client().attachments("second").isEmpty());
        checkImage("second", second.expected());
        guests.drop("second");
        await("the clone is gone", Deadlines.SHORT)
                .until(() -> cluster.client().space("second").isEmpty());
    }

    private void checkImage(String space, List<byte[]> expected) {
        byte[] saved = cluster.agent("c")
                .rest()
                .get("/api/v1/spaces/" + space + "/memory")
                .expect(200)
                .body();
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    expected.get(page),
                    Arrays.copyOfRange(saved, page * PAGE, (page + 1) * PAGE),
                    space + ", page " + page);
        }
    }

    @Test
    void shouldParkAClone() throws Exception {
        Clone clone = begin("parked");
        for (int page = 0; page < PAGES; page += 5) {
            clone.write(page, Pages.of(4, page, PAGE));
        }
        cluster.agent("a")
                .rest()
                .send(
                        "POST",
                        "/api/v1/spaces/parked/guest/park",
                        "application/json",
                        "{}".getBytes(StandardCharsets.UTF_8))
                .expect(200);
        JsonNode status = guests.status("parked");
        assertTrue(status.get("residentPages").asInt() <= LOCAL_PAGES, status::toString);
        clone.checkAll();
        end(clone);
    }

    @Test
    void shouldTakeRoomForExtentsThatWereWrittenAlone() throws Exception {
        long free = freeBytes();
        Clone clone = begin("few");
        for (int page = 0; page < PAGES; page++) {
            if (!isZeros(page)) {
                clone.check(page);
            }
        }
        assertEquals(free, freeBytes(), "what is only read takes no room");
        for (int page = EXTENT_PAGES; page < 2 * EXTENT_PAGES; page++) {
            clone.write(page, Pages.of(9, page, PAGE));
        }
        for (int page = EXTENT_PAGES; page < 2 * EXTENT_PAGES; page++) {
            clone.check(page);
        }
        assertEquals(List.of(false, true, false, false), allocated("few").subList(0, EXTENTS));
        assertEquals(free - EXTENT, freeBytes());
        end(clone);
        Clone next = begin("few", clone.expected());
        next.checkAll();
        end(next);
    }
}
