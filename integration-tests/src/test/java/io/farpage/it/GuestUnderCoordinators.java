package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.CoordinatorProcess;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Recurring;
import io.farpage.it.harness.ShadowedRam;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A guest runs with a quarter of its memory local, and other spaces hold pages, while coordinators are lost, rolled
 * back or doubled. The guest and the pages go on.
 */
abstract class GuestUnderCoordinators {
    static final int THREADS = 2;
    static final int PAGES = 512;
    static final int SPACE_PAGES = 32;
    static final int LOCAL_PAGES = 128;
    static final int ENOUGH = 20;

    @TempDir
    Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    Cluster cluster;

    @SuppressWarnings("NullAway.Init") // set before each test
    Guests guests;

    @SuppressWarnings("NullAway.Init") // set before each test
    ShadowedRam guest;

    private final Set<String> used = ConcurrentHashMap.newKeySet();

    @SuppressWarnings("NullAway.Init") // set before each test
    private Recurring use;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeEach
    void startGuest() throws Exception {
        cluster = Cluster.startProcess();
        List.of("a", "b").forEach(node -> cluster.openAgent(node, Map.of()));
        cluster.launchAgent("c", Map.of());
        cluster.awaitAllLinks();
        // A space that is not used for ten seconds is detached, and is not attached again without a coordinator.
        use = new Recurring(
                "use-spaces",
                Duration.ofSeconds(1),
                () -> used.forEach(name -> cluster.agent("c").page(name, 0)));
        makeSpace("first", 1);
        guests = new Guests(cluster, "a", "b");
        guests.attach("vm", socket(), PAGES * 4096L, LOCAL_PAGES * 4096L);
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        guest = ShadowedRam.start(socket(), PAGES, THREADS, seed);
        guests.awaitAttached("vm");
        guests.awaitFaults("vm", ENOUGH);
    }

    @AfterEach
    void end() {
        if (guest != null) {
            guest.close();
        }
        if (use != null) {
            use.close();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    final Path socket() {
        return directory.resolve("socket");
    }

    final void makeSpace(String name, long seed) throws Exception {
        cluster.makeSpace(name, SPACE_PAGES, 4096, "b");
        LongStream.range(0, SPACE_PAGES)
                .forEach(page -> cluster.agent("c")
                        .putPage(name, page, Pages.of(seed, page, 4096))
                        .expect(204));
        used.add(name);
    }

    final void verify(String name, long seed) {
        verify("c", name, seed);
    }

    final void verify(String node, String name, long seed) {
        for (long page = 0; page < SPACE_PAGES; page++) {
            assertArrayEquals(
                    Pages.of(seed, page, 4096),
                    cluster.agent(node).page(name, page).expect(200).body(),
                    "page " + page + " of " + name);
        }
    }

    final void copyStore(Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(cluster.coordinator().store())) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
    }

    static String detail(Agent agent, String name) {
        return agent.rest()
                .get("/health")
                .expect(200)
                .json()
                .get("details")
                .get(name)
                .asString();
    }

    final void awaitNotObeyed(String reason) {
        await("no agent obeys: " + reason, Deadlines.LONG)
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> detail(agent, "coordinator").startsWith("not obeyed")
                                && detail(agent, "coordinator").contains(reason)));
        for (Agent agent : cluster.agents()) {
            assertTrue(agent.rest().get("/metrics").text().contains("farpage_agent_coordinator_obeyed 0"));
        }
        // Agents in this JVM write to the log of the test.
        for (AgentProcess agent : cluster.processes()) {
            assertTrue(
                    agent.process().err().contains("is not obeyed"),
                    agent.process().err());
        }
    }

    final void awaitObeyed() {
        await("all agents obey this start of the coordinator, and are registered", Deadlines.LONG)
                .ignoreExceptions()
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> detail(agent, "coordinator").equals("obeyed")
                                && detail(agent, "seen").contains("/" + epoch() + "/")
                                && detail(agent, "registered").equals("true")));
    }

    final String epoch() {
        return coordinator()
                .rest()
                .get("/health")
                .json()
                .get("details")
                .get("epoch")
                .asString();
    }

    final List<String> incarnations() {
        return cluster.agents().stream()
                .map(agent -> detail(agent, "incarnation"))
                .toList();
    }

    final CoordinatorProcess coordinator() {
        return cluster.coordinatorProcess();
    }

    /** The guest's faults are served, and the pages of the other spaces are what was written. */
    final void assertServed(List<String> incarnations, Map<String, Integer> spaces) {
        assertGuestIsRight();
        spaces.forEach((name, seed) -> verify(name, seed));
        assertEquals(incarnations, incarnations(), "no agent has begun anew");
    }

    final void assertGuestIsRight() {
        long enough = guest.operations() + 2 * PAGES;
        await("the guest goes on", Deadlines.LONG).until(() -> guest.operations() >= enough);
        guests.awaitFaults("vm", ENOUGH);
        assertEquals(List.of(), guest.mismatches());
    }

    /** Spaces, extents and attachments are those that were, and room is given out beside them. */
    final void assertWhole(List<SpaceExtents> before, Map<String, Integer> spaces) throws Exception {
        assertEquals(
                before.stream().map(GuestUnderCoordinators::layout).toList(),
                extents().stream().map(GuestUnderCoordinators::layout).toList());
        assertTrue(cluster.client().attachments("vm").stream()
                .anyMatch(held -> held.node().equals("a") && held.mode() == AttachMode.EXCLUSIVE));
        makeSpace("afterwards", 99);
        assertServed(incarnations(), spaces);
        verify("afterwards", 99);
        assertTrue(cluster.client().spaces().stream().map(Space::id).distinct().count()
                == cluster.client().spaces().size());
        cluster.awaitAllLinks();
    }

    final List<SpaceExtents> extents() throws Exception {
        List<SpaceExtents> all = new ArrayList<>();
        for (Space space : cluster.client().spaces()) {
            all.add(cluster.client().extents(space.name()).orElseThrow());
        }
        return all;
    }

    static String layout(SpaceExtents extents) {
        return extents.space().id() + extents.space().name() + extents.space().torn() + extents.extents();
    }
}
