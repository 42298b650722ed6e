package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Torn;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A guest ends while its home does not answer, and the home does not come back before {@code guest.flush_deadline}. */
@NeedsUserfaultfd
@Tag("soak")
class FlushDeadlineTest {
    private static final int PAGES = 512;
    private static final int LOCAL = 128;
    private final Duration deadline = Deadlines.of(Duration.ofSeconds(5));
    private static final String SPACE = "given-up";

    @RegisterExtension
    final ClusterLog log = new ClusterLog(this::cluster);

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Guests guests;

    private Cluster cluster() {
        return cluster;
    }

    @BeforeEach
    void start() {
        cluster = Cluster.ofProcesses(
                Map.of("guest.flush_deadline", deadline.toMillis() + "ms", "fetch.deadline", "500ms"), "a", "b", "c");
        guests = new Guests(cluster, "a", "b");
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    @Test
    void shouldTearTheSpaceAtTheDeadlineWhenTheHomeIsStopped() throws Exception {
        endGuestWithout(ChildJvm::stop);
        cluster.process("b").process().resume();
        assertAttachedByForceOnly();
        // Torn: a page is as it was at its last eviction, or zeros if it was never evicted, but never anything else.
        for (int page = 0; page < PAGES; page += 37) {
            byte[] found = cluster.agent("c").page(SPACE, page).expect(200).body();
            assertTrue(
                    Arrays.equals(Pages.of(1, page, 4096), found)
                            || Arrays.equals(Pages.of(2, page, 4096), found)
                            || Arrays.equals(new byte[4096], found),
                    "page " + page + " is of another time or space");
        }
    }

    @Test
    void shouldTearTheSpaceAtTheDeadlineWhenTheHomeIsKilled() throws Exception {
        endGuestWithout(ChildJvm::kill);
        assertAttachedByForceOnly();
    }

    /** What happens to the home before the guest ends. */
    private interface Blow {
        void on(ChildJvm home) throws Exception;
    }

    private void endGuestWithout(Blow blow) throws Exception {
        Path socket = directory.resolve("socket");
        guests.attach(SPACE, socket, PAGES * 4096L, LOCAL * 4096L);
        long pid = cluster.process("a").process().pid();
        long ended;
        try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests.awaitAttached(SPACE);
            for (int seed = 1; seed <= 2; seed++) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(seed, page, 4096));
                }
            }
            blow.on(cluster.process("b").process());
            ended = System.nanoTime();
        }
        // Time alone: half of the deadline passes.
        await("time passes", deadline).pollDelay(deadline.dividedBy(2)).until(() -> true);
        assertNotEquals("ended", guests.status(SPACE).get("state").asString());
        assertTrue(ProcFs.memoryFile(pid).toString().startsWith("/proc/"));
        assertEquals(Optional.empty(), torn());

        String detail = guests.awaitEnded(SPACE).get("detail").asString();
        Duration took = Duration.ofNanos(System.nanoTime() - ended);
        assertTrue(took.compareTo(deadline) >= 0, () -> took + " of " + deadline);
        assertTrue(detail.contains("not at its homes"), detail);
        assertThrows(NoSuchElementException.class, () -> ProcFs.memoryFile(pid), "the memory file is closed");
        assertTrue(
                cluster.process("a").process().err().contains("guest.flush_deadline"),
                cluster.process("a").process().err());
        await("the coordinator knows", Deadlines.LONG)
                .until(() -> cluster.client().attachments(SPACE).isEmpty());
        assertTrue(torn().isPresent());
    }

    private void assertAttachedByForceOnly() {
        Answer refused = attach(false);
        assertEquals(409, refused.status(), refused::toString);
        assertTrue(refused.problem().is("space-torn"), refused::toString);
        attach(true).expect(200);
        assertEquals(Optional.empty(), torn());
        cluster.agent("c")
                .rest()
                .send("DELETE", "/api/v1/spaces/" + SPACE + "/guest", "", new byte[0])
                .expect(204);
    }

    private Answer attach(boolean force) {
        String body = "{\"socket\": \"%s\", \"force\": %s}".formatted(directory.resolve("next"), force);
        return new Guests(cluster, "c", "b").tryAttach(SPACE, body);
    }

    private Optional<Torn> torn() {
        try {
            return cluster.client().space(SPACE).orElseThrow().torn();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
