package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Space;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.SharedRam;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The space of a running guest is the guest's alone, whether a request names it by name or by id. */
@Tag("portable")
class SpaceLockTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final int LOCAL_PAGES = 128;
    private static final int SIGBUS_EXIT = 128 + 7;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void start() {
        cluster = Cluster.of("a", "b");
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @NeedsUserfaultfd
    @Test
    void shouldRefusePagesImagesAndDeletionWhileAGuestRuns() throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("locked", socket(), PAGES * (long) PAGE, LOCAL_PAGES * (long) PAGE);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            guests.awaitAttached("locked");
            byte[] own = new byte[PAGE];
            own[7] = 42;
            ram.write(3, own);
            String id =
                    Long.toString(cluster.client().space("locked").orElseThrow().id());
            for (String name : List.of("locked", id, "0" + id)) {
                for (String node : List.of("a", "b")) {
                    assertRefused(cluster.agent(node).page(name, 3));
                    assertRefused(cluster.agent(node).putPage(name, 3, new byte[PAGE]));
                    assertRefused(cluster.agent(node).rest().get("/api/v1/spaces/" + name + "/memory"));
                }
                assertRefused(cluster.coordinator().rest().send("DELETE", "/api/v1/spaces/" + name, "", new byte[0]));
                assertEquals(
                        List.of(AttachMode.EXCLUSIVE),
                        cluster.client().attachments(name).stream()
                                .map(Attachment::mode)
                                .toList());
            }
            assertRefused(guests.tryAttach(id, "{\"socket\": \"%s\"}".formatted(directory.resolve("second"))));
            assertEquals("attached", guests.status(id).get("state").asString());
            assertArrayEquals(own, ram.read(3));
        }
        guests.awaitEnded("locked");
        guests.drop("locked");
    }

    @Test
    void shouldSendSigbusWhenASpaceIsDeletedByForceUnderAGuest() throws Exception {
        SharedRam program = SharedRam.compile(directory);
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("doomed", socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        Path go = directory.resolve("go");
        long home = free("b");
        long pages = cluster.client().space("doomed").map(Space::storedPages).orElseThrow();
        try (ChildJvm process = ChildJvm.launch(
                "shared-ram",
                program.preloaded(SharedRam.QEMUS_NAME, PAGES, "rounds", "wait", "kept"),
                Map.of("FARPAGE_SOCKET", socket().toString(), "SHARED_RAM_GO", go.toString()),
                directory)) {
            await("the guest waits", Deadlines.LONG).until(() -> process.out().contains("rounds"));
            String id =
                    Long.toString(cluster.client().space("doomed").orElseThrow().id());
            cluster.coordinator()
                    .rest()
                    .send("DELETE", "/api/v1/spaces/" + id + "?force=true", "", new byte[0])
                    .expect(204);
            await("the space is gone and its room zeroed", Deadlines.LONG)
                    .until(() -> cluster.client().space(id).isEmpty() && free("b") == home + pages * PAGE);
            // The same name again, with fewer pages than the guest has.
            cluster.makeSpace("doomed", 8, PAGE, "b");
            byte[] other = new byte[PAGE];
            other[0] = 1;
            cluster.agent("a").putPage("doomed", 5, other).expect(204);
            Files.createFile(go);

            assertEquals(SIGBUS_EXIT, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("rounds\nwait\n", process.out());
        }
        guests.awaitEnded("doomed");
        cluster.agent("a").rest().get("/health").expect(200);
        for (int page = 0; page < 8; page++) {
            byte[] found = cluster.agent("b").page("doomed", page).expect(200).body();
            assertEquals(page == 5 ? 1 : 0, found[0], "page " + page + " of the new space");
        }
        guests.drop("doomed");
    }

    @Test
    void shouldEndAGuestWhoseSpaceIsDeletedByForceBeforeItsVmmCame() throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("early", socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        cluster.coordinator()
                .rest()
                .send("DELETE", "/api/v1/spaces/early?force=true", "", new byte[0])
                .expect(204);
        await("the space is gone", Deadlines.LONG)
                .until(() -> cluster.client().space("early").isEmpty());
        guests.awaitEnded("early");
        guests.attach("early", socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        guests.drop("early");
    }

    private static long free(String node) {
        for (var use : cluster.coordinator()
                .rest()
                .get("/api/v1/overview")
                .expect(200)
                .json()
                .get("nodes")) {
            if (use.get("node").get("id").asString().equals(node)) {
                return use.get("freeBytes").asLong();
            }
        }
        throw new AssertionError("no node " + node);
    }

    private static void assertRefused(Answer answer) {
        assertEquals(409, answer.status(), answer::toString);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
