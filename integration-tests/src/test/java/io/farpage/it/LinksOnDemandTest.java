package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.Pages;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Agents that link when a page is needed, as real processes. */
@Tag("portable")
@Tag("processes")
class LinksOnDemandTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 32;
    private static final String DEMAND = "demand";
    private static final String MESH = "mesh";

    /** The deadline of a fetch, which the first one of a link has to keep, too. */
    private static final String DEADLINE = "10s";

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeEach
    void start() {
        cluster = Cluster.start();
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    private static Map<String, String> settings(String mode) {
        return Map.of("link.mode", mode, "link.grace", "100ms", "fetch.deadline", DEADLINE);
    }

    /** Kills the agents with these ids and starts agents of one mode instead. */
    private void start(String mode, String... nodes) throws Exception {
        Map<String, String> before = new HashMap<>();
        for (String node : nodes) {
            before.put(node, known(node).map(Agent::node).isPresent() ? cluster.incarnation(node) : "");
            if (known(node).isPresent()) {
                cluster.process(node).process().kill();
            }
        }
        Arrays.stream(nodes).forEach(node -> cluster.launchAgent(node, settings(mode)));
        before.forEach(cluster::awaitActive);
    }

    private Optional<Agent> known(String node) {
        return cluster.agents().stream()
                .filter(agent -> agent.node().equals(node))
                .findFirst();
    }

    /** The links that are up, as {@code a-b}, each if either side has it. */
    private List<String> links() {
        TreeSet<String> links = new TreeSet<>();
        for (Agent from : cluster.agents()) {
            for (Agent to : cluster.agents()) {
                if (!from.node().equals(to.node()) && from.isLinkedTo(to.node())) {
                    links.add(
                            from.node().compareTo(to.node()) < 0
                                    ? from.node() + "-" + to.node()
                                    : to.node() + "-" + from.node());
                }
            }
        }
        return List.copyOf(links);
    }

    private void awaitLinks(String... expected) {
        await("links " + List.of(expected), Deadlines.LONG)
                .untilAsserted(() -> assertEquals(List.of(expected), links()));
    }

    private void fill(String space, String writer, String home, long seed) throws CoordinatorException {
        cluster.makeSpace(space, PAGES, PAGE, home);
        for (int page = 0; page < PAGES; page++) {
            cluster.agent(writer)
                    .putPage(space, page, Pages.of(seed, page, PAGE))
                    .expect(204);
        }
    }

    private void check(String space, String reader, long seed) {
        for (int page = 0; page < PAGES; page++) {
            Pages.check(cluster.agent(reader).page(space, page).expect(200).body(), seed, page, PAGE);
        }
    }

    @Test
    void shouldLinkOnlyWithTheHomeOfAPageInTimeForItsFetch() throws Exception {
        start(DEMAND, "a", "b", "c");
        assertEquals(List.of(), links());

        fill("vm", "a", "b", 1);
        // The link took longer than a mesh waits before it makes all others.
        assertEquals(List.of("a-b"), links());
        assertEquals(List.of(), cluster.client().call(NodeOperations.ENDPOINTS.at("c")), "what c has offered");

        check("vm", "c", 1);
        assertEquals(List.of("a-b", "b-c"), links());
        assertTrue(
                cluster.client().call(NodeOperations.ENDPOINTS.at("a")).stream()
                        .noneMatch(offer -> offer.peer().equals("c")),
                "a offers no link to c");
    }

    /**
     * The home keeps its pool over its death; both agents that had a link to it read again, and those without one make
     * none.
     */
    @Test
    @Tag("soak")
    void shouldLinkAgainWithAHomeThatDiedAndHasReturned() throws Exception {
        try (KeeperProcess keeper = KeeperProcess.start("b", directory.resolve("b.keeper"))) {
            Map<String, String> home = new HashMap<>(settings(DEMAND));
            home.putAll(keeper.settings());
            cluster.launchAgent("b", home).awaitListening();
            start(DEMAND, "a", "c", "d");
            fill("vm", "a", "b", 2);
            check("vm", "c", 2);
            assertEquals(List.of("a-b", "b-c"), links());

            String before = cluster.incarnation("b");
            cluster.process("b").process().kill();
            cluster.launchAgent("b", home).awaitListening();
            cluster.awaitActive("b", before);
            check("vm", "a", 2);
            check("vm", "c", 2);
            awaitLinks("a-b", "b-c");
            check("vm", "d", 2);
            assertEquals(List.of("a-b", "b-c", "b-d"), links());
        }
    }

    /** An agent in a mesh offers a link to every node, and one that links on demand takes each offer. */
    @Test
    @Tag("soak")
    void shouldLinkWithAgentsOfTheOtherMode() throws Exception {
        start(DEMAND, "a");
        start(MESH, "b", "c");
        awaitLinks("a-b", "a-c", "b-c");
        fill("mixed", "a", "c", 3);
        check("mixed", "b", 3);

        start(DEMAND, "b");
        awaitLinks("a-c", "b-c");
        fill("from-mesh-to-demand", "b", "a", 4);
        awaitLinks("a-b", "a-c", "b-c");
    }

    @Test
    @Tag("soak")
    void shouldFollowAModeThatChangesAtARestart() throws Exception {
        start(DEMAND, "a", "b", "c");
        assertEquals(List.of(), links());
        start(MESH, "a");
        awaitLinks("a-b", "a-c");
        start(DEMAND, "a");
        awaitLinks();
        fill("on-demand-again", "c", "b", 5);
        assertEquals(List.of("b-c"), links());
    }
}
