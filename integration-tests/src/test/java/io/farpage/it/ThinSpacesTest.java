package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Guests of thin spaces on node a, whose pages get room on node b, which has too little for all of them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@NeedsUserfaultfd
class ThinSpacesTest {
    private static final int PAGE = 4096;
    private static final int EXTENT_PAGES = 512;
    private static final long EXTENT = (long) EXTENT_PAGES * PAGE;
    /** Extents that node b has room for; node a has room for one. */
    private static final int ROOM = 6;

    private static final int EXTENTS = 5;
    private static final int PAGES = EXTENTS * EXTENT_PAGES;
    private static final long LOCAL = 1 << 20;
    private static final int LOCAL_PAGES = (int) (LOCAL / PAGE);

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;
    private Guests guests;

    @BeforeAll
    void start() {
        cluster = Cluster.start(Map.of("pool.overcommit", "300"));
        cluster.openAgent("a", Map.of("pool.exported", "2MiB"));
        cluster.openAgent("b", Map.of("pool.exported", Long.toString(ROOM * EXTENT)));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterAll
    void close() {
        cluster.close();
    }

    @AfterEach
    void dropAll() throws CoordinatorException {
        cluster.client().spaces().forEach(space -> guests.drop(space.name()));
        await("all room is free", Deadlines.SHORT).until(() -> freeBytes() == poolBytes());
    }

    private long poolBytes() throws CoordinatorException {
        return cluster.client().nodes().stream()
                .filter(node -> node.status() == NodeStatus.ACTIVE)
                .mapToLong(node -> node.pool().exportedBytes())
                .sum();
    }

    private long freeBytes() throws CoordinatorException {
        return poolBytes() - cluster.client().overview(NodeFilter.ALL).totals().usedBytes();
    }

    private PagedRam begin(String space) throws CoordinatorException {
        return begin(space, GuestMemory.Backing.MEMFD);
    }

    private PagedRam begin(String space, GuestMemory.Backing backing) throws CoordinatorException {
        if (cluster.client().space(space).isEmpty()) {
            cluster.client()
                    .createSpace(SpaceRequest.of(space, PAGES * (long) PAGE).asThin());
        }
        Path socket = directory.resolve(space);
        guests.tryAttach(space, "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL))
                .expect(200);
        return PagedRam.handOver(socket, backing, PAGES, 1);
    }

    private void end(String space, PagedRam ram) {
        ram.close();
        guests.awaitEnded(space);
    }

    private List<Boolean> allocated(String space) throws CoordinatorException {
        return cluster.client().extents(space).orElseThrow().extents().stream()
                .map(Extent::isAllocated)
                .toList();
    }

    private static void write(PagedRam ram, int extent, int seed) {
        for (int page = extent * EXTENT_PAGES; page < (extent + 1) * EXTENT_PAGES; page++) {
            ram.write(page, Pages.of(seed, page, PAGE));
        }
    }

    private static void check(PagedRam ram, int extent, int seed) {
        for (int page = extent * EXTENT_PAGES; page < (extent + 1) * EXTENT_PAGES; page++) {
            assertArrayEquals(Pages.of(seed, page, PAGE), ram.read(page), "page " + page);
        }
    }

    private static void checkZeros(PagedRam ram, int extent) {
        for (int page = extent * EXTENT_PAGES; page < (extent + 1) * EXTENT_PAGES; page++) {
            assertArrayEquals(new byte[PAGE], ram.read(page), "page " + page);
        }
    }

    @Test
    void shouldTakeRoomForWhatLeavesTheGuestAlone() throws Exception {
        PagedRam ram = begin("vm");
        long before = freeBytes();
        for (int page = 0; page < LOCAL_PAGES / 4; page++) {
            ram.write(page, Pages.of(1, page, PAGE));
        }
        assertEquals(before, freeBytes(), "what fits below the limit takes no room");
        write(ram, 1, 2);
        write(ram, 3, 3);
        checkZeros(ram, 2);
        check(ram, 1, 2);
        check(ram, 3, 3);
        List<Boolean> now = allocated("vm");
        assertTrue(now.get(1) && now.get(3), now::toString);
        assertTrue(!now.get(4), now::toString);
        end("vm", ram);

        PagedRam next = begin("vm");
        check(next, 1, 2);
        check(next, 3, 3);
        checkZeros(next, 4);
        assertArrayEquals(Pages.of(1, 7, PAGE), next.read(7));
        JsonNode status = guests.status("vm");
        assertTrue(status.get("fetchedFaults").asInt() <= 2 * EXTENT_PAGES + LOCAL_PAGES / 4, status::toString);
        end("vm", next);
    }

    @Test
    void shouldGiveRoomBackThatAGuestLeavesAsZeros() throws Exception {
        PagedRam ram = begin("vm");
        write(ram, 0, 1);
        write(ram, 1, 1);
        write(ram, 2, 1);
        check(ram, 0, 1);
        IntStream.range(EXTENT_PAGES, 2 * EXTENT_PAGES).forEach(ram::remove);
        end("vm", ram);
        await("the room of extent 1 is given back", Deadlines.SHORT)
                .until(() -> allocated("vm").subList(0, EXTENTS).equals(List.of(true, false, true, false, false)));

        PagedRam next = begin("vm");
        checkZeros(next, 1);
        check(next, 0, 1);
        write(next, 1, 9);
        check(next, 2, 1);
        check(next, 1, 9);
        end("vm", next);
        PagedRam last = begin("vm");
        check(last, 1, 9);
        end("vm", last);
    }

    @Test
    void shouldGiveRoomBackUnderAGuestThatGivesPagesUp() throws Exception {
        PagedRam ram = begin("vm");
        write(ram, 0, 1);
        write(ram, 1, 1);
        write(ram, 2, 1);
        check(ram, 0, 1);
        IntStream.range(EXTENT_PAGES, 2 * EXTENT_PAGES).forEach(ram::remove);
        await("the room of extent 1 is given back", Deadlines.LONG)
                .until(() -> !allocated("vm").get(1));
        checkZeros(ram, 1);
        write(ram, 1, 2);
        check(ram, 2, 1);
        check(ram, 0, 1);
        check(ram, 1, 2);
        assertTrue(allocated("vm").get(1));
        end("vm", ram);
        PagedRam next = begin("vm");
        check(next, 1, 2);
        check(next, 2, 1);
        end("vm", next);
    }

    /** Nothing that private memory changes is written home. */
    @Test
    void shouldKeepRoomOfPagesThatPrivateMemoryGivesUp() throws Exception {
        PagedRam image = begin("image");
        write(image, 1, 1);
        end("image", image);
        PagedRam ram = begin("image", GuestMemory.Backing.ANONYMOUS);
        check(ram, 1, 1);
        IntStream.range(0, PAGES).forEach(ram::remove);

        PagedRam other = begin("vm");
        write(other, 1, 1);
        write(other, 2, 1);
        IntStream.range(EXTENT_PAGES, 2 * EXTENT_PAGES).forEach(other::remove);
        await("the room of a guest that gave pages up later is given back", Deadlines.LONG)
                .until(() -> !allocated("vm").get(1));
        end("vm", other);
        assertTrue(allocated("image").get(1));
        end("image", ram);
        PagedRam next = begin("image");
        check(next, 1, 1);
        end("image", next);
    }

    @Test
    void shouldKeepPagesThatGetNoRoomInTheGuestUntilThereIsSome() throws Exception {
        PagedRam first = begin("first");
        for (int extent = 0; extent < 4; extent++) {
            write(first, extent, 1);
        }
        check(first, 0, 1);
        PagedRam second = begin("second");
        for (int extent = 0; extent < EXTENTS; extent++) {
            write(second, extent, 2);
        }
        for (int extent = 0; extent < EXTENTS; extent++) {
            check(second, extent, 2);
        }
        JsonNode status = guests.status("second");
        assertTrue(status.get("roomless").asBoolean(), status::toString);
        assertTrue(status.get("residentPages").asInt() > LOCAL_PAGES, status::toString);
        for (int extent = 0; extent < 4; extent++) {
            check(first, extent, 1);
        }
        first.close();
        guests.awaitEnded("first");
        guests.drop("first");
        await("the limit holds again", Deadlines.SHORT)
                .until(() -> guests.status("second").get("residentPages").asInt() <= LOCAL_PAGES);
        assertTrue(!guests.status("second").get("roomless").asBoolean());
        for (int extent = 0; extent < EXTENTS; extent++) {
            check(second, extent, 2);
        }
        end("second", second);
    }

    @Test
    void shouldLoadSaveAndSnapshotAThinSpace() throws Exception {
        cluster.client()
                .createSpace(SpaceRequest.of("image", PAGES * (long) PAGE).asThin());
        byte[] image = new byte[PAGES * PAGE];
        for (int page = 2 * EXTENT_PAGES; page < 2 * EXTENT_PAGES + 9; page++) {
            System.arraycopy(Pages.of(4, page, PAGE), 0, image, page * PAGE, PAGE);
        }
        cluster.agent("a")
                .rest()
                .send("PUT", "/api/v1/spaces/image/memory", "application/octet-stream", image)
                .expect(204);
        assertEquals(
                List.of(false, false, true, false, false), allocated("image").subList(0, EXTENTS));
        assertArrayEquals(
                image,
                cluster.agent("b")
                        .rest()
                        .get("/api/v1/spaces/image/memory")
                        .expect(200)
                        .body());
        assertArrayEquals(
                new byte[PAGE], cluster.agent("b").page("image", 5).expect(200).body());
        cluster.agent("b").putPage("image", 5, Pages.of(8, 5, PAGE)).expect(204);
        assertArrayEquals(
                Pages.of(8, 5, PAGE),
                cluster.agent("a").page("image", 5).expect(200).body());
        await("nothing is attached", Deadlines.LONG)
                .until(() -> cluster.client().attachments("image").isEmpty());
        cluster.client().makeSnapshot("image");
        assertArrayEquals(
                Pages.of(4, 2 * EXTENT_PAGES, PAGE),
                cluster.agent("b").page("image", 2 * EXTENT_PAGES).expect(200).body());
        assertArrayEquals(
                new byte[PAGE],
                cluster.agent("b").page("image", PAGES - 1).expect(200).body());
    }
}
