package io.farpage.it;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.CoordinatorProcess;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ShadowedRam;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A guest runs with a quarter of its memory local, other spaces hold pages, and the coordinator loses or rolls back its store. The guest and the
 * pages go on; the right store, or a rebuild, makes the cluster whole.
 */
@NeedsUserfaultfd
@Tag("soak")
class LostCoordinatorTest {
    private static final int THREADS = 2;
    private static final int PAGES = 512;
    private static final int SPACE_PAGES = 32;
    private static final int LOCAL_PAGES = 128;
    private static final int ENOUGH = 20;

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Guests guests;

    @SuppressWarnings("NullAway.Init") // set before each test
    private ShadowedRam guest;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeEach
    void startGuest() throws Exception {
        cluster = Cluster.of("a", "b", "c");
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
        if (cluster != null) {
            cluster.close();
        }
    }

    private Path socket() {
        return directory.resolve("socket");
    }

    private void makeSpace(String name, long seed) throws Exception {
        cluster.makeSpace(name, SPACE_PAGES, 4096, "b");
        LongStream.range(0, SPACE_PAGES)
                .forEach(page -> cluster.agent("c")
                        .putPage(name, page, Pages.of(seed, page, 4096))
                        .expect(204));
    }

    private void verify(String name, long seed) {
        verify("c", name, seed);
    }

    private void verify(String node, String name, long seed) {
        for (long page = 0; page < SPACE_PAGES; page++) {
            assertArrayEquals(
                    Pages.of(seed, page, 4096),
                    cluster.agent(node).page(name, page).expect(200).body(),
                    "page " + page + " of " + name);
        }
    }

    private void copyStore(Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(cluster.coordinator().store())) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
    }

    private static String detail(AgentProcess agent, String name) {
        return agent.rest()
                .get("/health")
                .expect(200)
                .json()
                .get("details")
                .get(name)
                .asString();
    }

    private void awaitNotObeyed(String reason) {
        await("no agent obeys: " + reason)
                .atMost(Cluster.TIMEOUT)
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> detail(agent, "coordinator").startsWith("not obeyed")
                                && detail(agent, "coordinator").contains(reason)));
        for (AgentProcess agent : cluster.agents()) {
            assertTrue(agent.rest().get("/metrics").text().contains("farpage_agent_coordinator_obeyed 0"));
            assertTrue(agent.process().err().contains("is not obeyed"));
        }
    }

    private void awaitObeyed() {
        await("all agents obey this start of the coordinator, and are registered")
                .atMost(Cluster.TIMEOUT)
                .ignoreExceptions()
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> detail(agent, "coordinator").equals("obeyed")
                                && detail(agent, "seen").contains("/" + epoch() + "/")
                                && detail(agent, "registered").equals("true")));
    }

    private String epoch() {
        return coordinator()
                .rest()
                .get("/health")
                .json()
                .get("details")
                .get("epoch")
                .asString();
    }

    private List<String> incarnations() {
        return cluster.agents().stream()
                .map(agent -> detail(agent, "incarnation"))
                .toList();
    }

    private CoordinatorProcess coordinator() {
        return cluster.coordinator();
    }

    /** The guest's faults are served, and the pages of the other spaces are what was written. */
    private void assertServed(List<String> incarnations, Map<String, Integer> spaces) {
        assertGuestIsRight();
        spaces.forEach((name, seed) -> verify(name, seed));
        assertEquals(incarnations, incarnations(), "no agent has begun anew");
    }

    private void assertGuestIsRight() {
        long enough = guest.operations() + 2 * PAGES;
        await("the guest goes on").atMost(Cluster.TIMEOUT).until(() -> guest.operations() >= enough);
        guests.awaitFaults("vm", ENOUGH);
        assertEquals(List.of(), guest.mismatches());
    }

    /** Spaces, extents and attachments are those that were, and room is given out beside them. */
    private void assertWhole(List<SpaceExtents> before, Map<String, Integer> spaces) throws Exception {
        assertEquals(
                before.stream().map(LostCoordinatorTest::layout).toList(),
                extents().stream().map(LostCoordinatorTest::layout).toList());
        assertTrue(cluster.client().attachments("vm").stream()
                .anyMatch(held -> held.node().equals("a") && held.mode() == AttachMode.EXCLUSIVE));
        makeSpace("afterwards", 99);
        assertServed(incarnations(), spaces);
        verify("afterwards", 99);
        assertTrue(cluster.client().spaces().stream().map(Space::id).distinct().count()
                == cluster.client().spaces().size());
        cluster.awaitAllLinks();
    }

    private List<SpaceExtents> extents() throws Exception {
        List<SpaceExtents> all = new ArrayList<>();
        for (Space space : cluster.client().spaces()) {
            all.add(cluster.client().extents(space.name()).orElseThrow());
        }
        return all;
    }

    private static String layout(SpaceExtents extents) {
        return extents.space().id() + extents.space().name() + extents.space().torn() + extents.extents();
    }

    @Test
    void shouldRebuildADeletedStoreFromWhatAgentsKnowUnderARunningGuest() throws Exception {
        makeSpace("second", 2);
        makeSpace("deleted", 3);
        cluster.client().deleteSpace("deleted");
        await("deleted")
                .atMost(Cluster.TIMEOUT)
                .until(() -> cluster.client().space("deleted").isEmpty());
        makeSpace("third", 4);
        Map<String, Integer> spaces = Map.of("first", 1, "second", 2, "third", 4);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        coordinator().restart();
        awaitNotObeyed("keeps cluster");
        assertServed(incarnations, spaces);
        assertEquals(List.of(), cluster.client().nodes(), "no agent has registered anew");

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        coordinator().rebuild("a", "b", "c");
        awaitObeyed();
        assertEquals(incarnations, incarnations());
        assertWhole(before, spaces);
        assertGuestIsRight();
        // The rebuilt store is a store like any other.
        coordinator().process().kill();
        coordinator().restart();
        awaitObeyed();
        verify("third", 4);
    }

    @Test
    void shouldNotObeyAnOlderStoreAndRebuildIt() throws Exception {
        coordinator().process().kill();
        Path older = directory.resolve("older");
        copyStore(older);
        coordinator().restart();
        awaitObeyed();
        makeSpace("newer", 2);
        Map<String, Integer> spaces = Map.of("first", 1, "newer", 2);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(older, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("older copy");
        assertServed(incarnations, spaces);
        assertEquals(
                503, coordinator().rest().get("/health").status(), "the coordinator has learned that it is behind");
        assertEquals(
                503,
                coordinator()
                        .rest()
                        .sendJson("POST", "/api/v1/spaces", "{\"name\":\"over-newer\",\"sizeBytes\":4096}")
                        .status());

        coordinator().process().kill();
        coordinator().rebuild("a", "b", "c");
        awaitObeyed();
        assertWhole(before, spaces);
        assertGuestIsRight();
    }

    @Test
    void shouldNotObeyAnotherClustersCoordinatorAndResumeWhenTheRightOneIsBack() throws Exception {
        Map<String, Integer> spaces = Map.of("first", 1);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();
        Path kept = directory.resolve("kept");
        Path others = directory.resolve("others");
        try (Cluster other = Cluster.of("a")) {
            other.awaitActive("a", "");
            other.makeSpace("theirs", SPACE_PAGES, 4096, "a");
            other.coordinator().process().kill();
            Files.move(other.coordinator().store(), others);
        }
        coordinator().process().kill();
        Files.move(coordinator().store(), kept);
        Files.move(others, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("keeps cluster");
        assertServed(incarnations, spaces);

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(kept, coordinator().store());
        coordinator().restart();
        awaitObeyed();
        assertEquals(incarnations, incarnations());
        assertWhole(before, spaces);
        assertGuestIsRight();
    }

    /** The second coordinator takes the place of the first at the same address, as behind a name that was moved; then the first is back. */
    @Test
    void shouldNotObeyTheOlderOfTwoCoordinatorsOnCopiesOfOneStore() throws Exception {
        Map<String, Integer> spaces = Map.of("first", 1);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();
        Path first = directory.resolve("first");
        coordinator().process().kill();
        copyStore(first);
        coordinator().restart();
        awaitObeyed();
        coordinator().process().kill();
        Path second = directory.resolve("second");
        Files.move(coordinator().store(), second);
        Files.move(first, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("copies of one store");
        assertServed(incarnations, spaces);

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(second, coordinator().store());
        coordinator().restart();
        awaitObeyed();
        assertWhole(before, spaces);
        assertGuestIsRight();
    }

    /**
     * Both run on copies of one store at the same time. Agents a and b are configured to the first, c is started anew and configured to the second.
     * Neither coordinator introduces c to b, so c reaches no page, whatever it was told of the spaces.
     */
    @Test
    void shouldMixNothingUpWhenAgentsAreConfiguredToTwoCoordinatorsOnCopiesOfOneStore() throws Exception {
        List<String> incarnations = incarnations();
        coordinator().process().kill();
        Path second = directory.resolve("second");
        copyStore(second.resolve("store"));
        coordinator().restart();
        awaitObeyed();
        CoordinatorProcess other = cluster.startAnotherCoordinator(second);
        cluster.agent("c").process().kill();
        cluster.startAgent("c", Map.of("coordinator.url", other.rest().base().toString(), "fetch.deadline", "500ms"));

        // Each side says which nodes it misses.
        awaitNodeStatus(coordinator(), "c", "failed");
        awaitNodeStatus(other, "c", "active");
        awaitNodeStatus(other, "a", "failed");
        awaitNodeStatus(other, "b", "failed");
        awaitNodeStatus(coordinator(), "a", "active");

        // The second coordinator lets c learn where pages live; c neither reads nor writes them.
        for (long page = 0; page < 2; page++) {
            assertTrue(cluster.agent("c").page("first", page).status() >= 400);
            assertTrue(cluster.agent("c")
                            .putPage("first", page, Pages.of(77, page, 4096))
                            .status()
                    >= 400);
        }
        // Room of b is given to none but the first coordinator's spaces, and the guest's space to none.
        Answer made = other.rest()
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"over\",\"sizeBytes\":4096,\"homes\":[\"b\"]}");
        assertTrue(made.status() >= 400, made::toString);
        Answer taken = new Guests(cluster, "c", "b")
                .tryAttach("vm", "{\"socket\": \"%s\", \"force\": true}".formatted(directory.resolve("taken")));
        assertEquals(409, taken.status(), taken::toString);
        // Accepted there at most as a wish: the homes that would have to cut a off obey the first.
        other.rest().send("DELETE", "/api/v1/spaces/vm?force=true", "", new byte[0]);
        other.rest().send("DELETE", "/api/v1/spaces/first?force=true", "", new byte[0]);

        cluster.makeSpace("afterwards", SPACE_PAGES, 4096, "b");
        for (long page = 0; page < SPACE_PAGES; page++) {
            cluster.agent("a")
                    .putPage("afterwards", page, Pages.of(5, page, 4096))
                    .expect(204);
        }
        assertGuestIsRight();
        verify("a", "first", 1);
        verify("a", "afterwards", 5);
        assertEquals(incarnations.subList(0, 2), incarnations().subList(0, 2), "a and b have not begun anew");

        // The mistake is mended: c is configured to the first coordinator again.
        cluster.agent("c").process().kill();
        other.process().kill();
        cluster.startAgent("c", Map.of());
        awaitObeyed();
        cluster.awaitAllLinks();
        verify("first", 1);
        verify("afterwards", 5);
        assertGuestIsRight();
    }

    private static void awaitNodeStatus(CoordinatorProcess at, String node, String status) {
        await(node + " is " + status)
                .atMost(Cluster.TIMEOUT)
                .ignoreExceptions()
                .until(() -> at.rest()
                        .get("/api/v1/nodes/" + node)
                        .expect(200)
                        .json()
                        .get("status")
                        .asString()
                        .equals(status));
    }
}
