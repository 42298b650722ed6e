package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Torn;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.ProcFs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** How the use of a space passes from an agent that ends, in one way or another, to the next. */
@NeedsUserfaultfd
@Tag("soak")
class FencingTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 256;
    private static final int LOCAL_PAGES = 64;
    private static final String SPACE = "passed";

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @BeforeEach
    void start() {
        cluster = Cluster.ofProcesses(Map.of("fetch.deadline", "1s"), "a", "b", "c");
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    @Test
    void shouldPassASpaceOnOnlyWhenItsHomeHasCutTheSupersededAgentOff() throws Exception {
        AgentProcess first = cluster.process("a");
        String before = cluster.incarnation("a");
        PagedRam ram = startGuest();
        try {
            AgentProcess home = cluster.process("b");
            home.process().stop();
            cluster.startAgent("a", Map.of());
            cluster.awaitActive("a", before);
            assertEquals(3, first.process().awaitEnd());

            Answer early = attach("c", true);
            assertEquals(409, early.status(), early::toString);
            assertTrue(early.problem().is("fencing"), early::toString);
            assertTrue(early.problem().detail().contains("'b'"), early::toString);
            await("the home's lease runs out", Deadlines.LONG)
                    .until(() -> cluster.client().node("b").orElseThrow().status() == NodeStatus.FAILED);
            assertTrue(attach("c", true).problem().is("fencing"));

            home.process().resume();
            await("the home cuts the first agent off", Deadlines.LONG)
                    .until(() -> cluster.client().attachments(SPACE).isEmpty());
            assertTrue(
                    home.process().err().contains("cutting off incarnation " + before),
                    home.process().err());
        } finally {
            ram.closeWithoutAgent();
        }
        Answer torn = attach("c", false);
        assertEquals(409, torn.status(), torn::toString);
        assertTrue(torn.problem().is("space-torn"), torn::toString);
        attach("c", true).expect(200);
        assertEquals(Optional.empty(), torn());
    }

    @Test
    void shouldDeregisterOnlyWhenNoShardRunsAnyMore() throws Exception {
        AgentProcess agent = cluster.process("a");
        PagedRam ram = startGuest();
        try {
            agent.process().terminate();
            await("deregistration", Deadlines.LONG)
                    .pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> cluster.client().node("a").isEmpty());
            List<String> threads = ProcFs.threadNames(agent.process().pid());
            assertFalse(threads.contains("shard-0"), threads::toString);
            assertEquals(0, agent.process().awaitEnd());
        } finally {
            ram.closeWithoutAgent();
        }
        assertEquals(List.of(), cluster.client().attachments(SPACE));
        assertTrue(torn().orElseThrow().reason().contains("shutting down"), torn()::toString);
    }

    @Test
    void shouldDeregisterAnAgentWhoseHomeDoesNotAnswer() throws Exception {
        AgentProcess agent = cluster.process("a");
        PagedRam ram = startGuest();
        try {
            cluster.process("b").process().stop();
            agent.process().terminate();
            assertEquals(0, agent.process().awaitEnd());
            assertTrue(cluster.client().node("a").isEmpty());
        } finally {
            cluster.process("b").process().resume();
            ram.closeWithoutAgent();
        }
    }

    @Test
    void shouldMarkTheSpaceOfAKilledAgentTornUntilItIsAttachedByForce() throws Exception {
        String before = cluster.incarnation("a");
        PagedRam ram = startGuest();
        try {
            cluster.process("a").process().kill();
            cluster.startAgent("a", Map.of());
            cluster.awaitActive("a", before);
        } finally {
            ram.closeWithoutAgent();
        }
        await("the home has cut the dead agent off", Deadlines.LONG)
                .until(() -> cluster.client().attachments(SPACE).isEmpty());
        assertTrue(torn().orElseThrow().reason().contains("'a' was started anew"), torn()::toString);
        assertTrue(attach("a", false).problem().is("space-torn"));
        // People may still look at single pages. An image of it is not to be taken for that of a whole space.
        cluster.agent("c").page(SPACE, 1).expect(200);
        Answer image = cluster.agent("c").rest().get("/api/v1/spaces/" + SPACE + "/memory");
        assertTrue(image.problem().is("space-torn"), image::toString);
        cluster.agent("c")
                .rest()
                .get("/api/v1/spaces/" + SPACE + "/memory?force=true")
                .expect(200);
    }

    @Test
    void shouldMarkASpaceTornWhenAGuestsPagesCannotBeSaved() throws Exception {
        String before = cluster.incarnation("b");
        PagedRam ram = startGuest();
        try {
            cluster.process("b").process().kill();
            cluster.startAgent("b", Map.of());
            cluster.awaitActive("b", before);
        } finally {
            ram.close();
        }
        await("the guest's end", Deadlines.LONG)
                .until(() -> cluster.client().attachments(SPACE).isEmpty());
        assertTrue(torn().isPresent());
        assertTrue(attach("c", false).problem().is("space-torn"));
    }

    @Test
    void shouldNotMarkASpaceTornWhoseGuestsPagesAreAllSaved() throws Exception {
        startGuest().close();
        await("the guest's end", Deadlines.LONG)
                .until(() -> cluster.client().attachments(SPACE).isEmpty());
        assertEquals(Optional.empty(), torn());
        attach("c", false).expect(200);
    }

    /** A guest of a, homed at b, all of whose pages were written. */
    private PagedRam startGuest() {
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach(SPACE, directory.resolve("a"), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        PagedRam ram = PagedRam.handOver(directory.resolve("a"), PAGES);
        byte[] data = new byte[PAGE];
        for (int page = 0; page < PAGES; page++) {
            data[0] = (byte) (page + 1);
            ram.write(page, data);
        }
        return ram;
    }

    private Answer attach(String node, boolean force) {
        String body = "{\"socket\": \"%s\", \"force\": %s}".formatted(directory.resolve("next-" + node), force);
        return new Guests(cluster, node, "b").tryAttach(SPACE, body);
    }

    private Optional<Torn> torn() {
        try {
            return cluster.client().space(SPACE).orElseThrow().torn();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
