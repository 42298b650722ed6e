package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import io.farpage.linux.Errno;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Many guests of one memory image, on two nodes; the image is in the pool of one. */
@ExtendWith(TwoNodes.class)
class ClonesTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 300;
    private static final int CLONES_OF_NODE = 8;
    private static final int SEED = 5;
    private static final int CHANGED = 77;

    @TempDir
    private Path directory = Path.of("");

    /** A clone whose guest runs. */
    private record Clone(String name, Guests guests, PagedRam ram) {}

    private static byte[] image() {
        byte[] image = new byte[PAGES * PAGE];
        for (int page = 0; page < PAGES; page += 3) {
            System.arraycopy(Pages.of(SEED, page, PAGE), 0, image, page * PAGE, PAGE);
        }
        return image;
    }

    private static byte[] original(int page) {
        return page % 3 == 0 ? Pages.of(SEED, page, PAGE) : new byte[PAGE];
    }

    private static void makeSnapshot(Cluster cluster, String name) throws CoordinatorException {
        cluster.makeSpace(name, PAGES, PAGE, "b");
        cluster.agent("a")
                .rest()
                .send("PUT", "/api/v1/spaces/" + name + "/memory", "application/octet-stream", image())
                .expect(204);
        cluster.client().makeSnapshot(name);
    }

    private Clone begin(Cluster cluster, String snapshot, String node, String name) throws CoordinatorException {
        cluster.client().makeClone(snapshot, new CloneRequest(name));
        Guests guests = new Guests(cluster, node, "b");
        Path socket = directory.resolve(name);
        guests.attach(name, socket, (long) PAGES * PAGE, 1 << 20);
        return new Clone(name, guests, PagedRam.handOver(socket, GuestMemory.Backing.ANONYMOUS, PAGES, 1));
    }

    private static void end(Cluster cluster, List<Clone> clones, String snapshot) throws CoordinatorException {
        clones.forEach(each -> each.ram().close());
        for (Clone each : clones) {
            each.guests().awaitEnded(each.name());
            each.guests().drop(each.name());
        }
        await("the clones are gone", Deadlines.SHORT)
                .until(() -> cluster.client().spaces().stream()
                        .noneMatch(space -> space.base().isPresent()));
        cluster.client().deleteSpace(snapshot);
    }

    @NeedsUserfaultfd
    @Test
    void shouldGiveEachCloneTheSnapshotAndKeepItsChangesApart(Cluster cluster) throws Exception {
        makeSnapshot(cluster, "golden");
        List<Clone> clones = new ArrayList<>();
        try {
            for (int i = 0; i < CLONES_OF_NODE; i++) {
                clones.add(begin(cluster, "golden", "a", "on-a-" + i));
                clones.add(begin(cluster, "golden", "b", "on-b-" + i));
            }
            for (int i = 0; i < clones.size(); i++) {
                clones.get(i).ram().write(CHANGED, Pages.of(100 + i, CHANGED, PAGE));
            }
            for (int i = 0; i < clones.size(); i++) {
                Clone clone = clones.get(i);
                for (int page = 0; page < PAGES; page++) {
                    byte[] expected = page == CHANGED ? Pages.of(100 + i, CHANGED, PAGE) : original(page);
                    assertArrayEquals(expected, clone.ram().read(page), clone.name() + ", page " + page);
                }
                JsonNode status = clone.guests().status(clone.name());
                assertTrue(status.get("fetchedFaults").asInt() <= PAGES / 3, "a page of zeros was fetched: " + status);
            }
            assertArrayEquals(
                    image(),
                    cluster.agent("b")
                            .rest()
                            .get("/api/v1/spaces/golden/memory")
                            .expect(200)
                            .body());
        } finally {
            end(cluster, clones, "golden");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldBeginAgainWithTheSnapshot(Cluster cluster) throws Exception {
        makeSnapshot(cluster, "again");
        List<Clone> clones = new ArrayList<>();
        try {
            Clone first = begin(cluster, "again", "a", "twice");
            first.ram().write(3, new byte[PAGE]);
            first.ram().close();
            first.guests().awaitEnded("twice");
            assertTrue(
                    cluster.client().extents("twice").orElseThrow().extents().stream()
                            .noneMatch(Extent::isAllocated),
                    "private memory takes no room");
            Path socket = directory.resolve("second");
            first.guests().attach("twice", socket, (long) PAGES * PAGE, 1 << 20);
            Clone second = new Clone(
                    "twice", first.guests(), PagedRam.handOver(socket, GuestMemory.Backing.ANONYMOUS, PAGES, 1));
            clones.add(second);
            assertArrayEquals(original(3), second.ram().read(3));
        } finally {
            end(cluster, clones, "again");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldLoseThePagesOfACloneThatIsDeletedUnderItsGuest(Cluster cluster) throws Exception {
        makeSnapshot(cluster, "doomed");
        Clone kept = begin(cluster, "doomed", "a", "kept");
        Clone deleted = begin(cluster, "doomed", "a", "deleted");
        try (Arena arena = Arena.ofConfined()) {
            assertArrayEquals(original(0), deleted.ram().read(0));
            long id = cluster.client().space("deleted").orElseThrow().id();
            cluster.coordinator()
                    .rest()
                    .send("DELETE", "/api/v1/spaces/" + id + "?force=true", "", new byte[0])
                    .expect(204);
            await("the clone is gone", Deadlines.SHORT)
                    .until(() -> cluster.client().space(Long.toString(id)).isEmpty());
            assertEquals(-Errno.EFAULT, deleted.ram().copyOut(3, arena.allocate(PAGE)));
            assertArrayEquals(original(0), deleted.ram().read(0), "a page that is resident stays");
            assertArrayEquals(original(3), kept.ram().read(3));
        } finally {
            end(cluster, List.of(kept, deleted), "doomed");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldRefuseWhatWouldChangeASnapshotOrNeedsPagesOfAClone(Cluster cluster) throws Exception {
        makeSnapshot(cluster, "sealed");
        cluster.client().makeClone("sealed", new CloneRequest("c"));
        Guests guests = new Guests(cluster, "a", "b");
        try {
            String written = cluster.agent("a")
                    .putPage("sealed", 0, new byte[PAGE])
                    .expect(409)
                    .text();
            assertTrue(written.contains("is a snapshot, which is read-only"), written);
            String loaded = cluster.agent("a")
                    .rest()
                    .send("PUT", "/api/v1/spaces/sealed/memory", "application/octet-stream", image())
                    .expect(409)
                    .text();
            assertTrue(loaded.contains("is a snapshot"), loaded);
            String clone = cluster.agent("a")
                    .putPage("c", 0, new byte[PAGE])
                    .expect(409)
                    .text();
            assertTrue(clone.contains("is a clone, to which only its guest writes"), clone);
            assertArrayEquals(
                    original(3), cluster.agent("a").page("c", 3).expect(200).body());
            CoordinatorRefusedException refused = assertThrows(
                    CoordinatorRefusedException.class, () -> cluster.client().deleteSpace("sealed"));
            assertTrue(String.valueOf(refused.getMessage()).contains("has 1 clones"), refused::getMessage);
            assertArrayEquals(
                    original(0),
                    cluster.agent("a").page("sealed", 0).expect(200).body());

            String intoClone = cluster.agent("a")
                    .rest()
                    .send("PUT", "/api/v1/spaces/c/memory", "application/octet-stream", image())
                    .expect(409)
                    .text();
            assertTrue(intoClone.contains("begins with the pages of its snapshot"), intoClone);
        } finally {
            guests.drop("c");
            await("the clone is gone", Deadlines.SHORT)
                    .until(() -> cluster.client().space("c").isEmpty());
            cluster.client().deleteSpace("sealed");
        }
    }
}
