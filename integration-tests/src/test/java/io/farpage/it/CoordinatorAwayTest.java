package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.Load;
import io.farpage.it.harness.Pages;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * What agents do without a coordinator: what they did before. In order, because the last test takes the coordinator's
 * store away.
 */
@Tag("portable")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("processes")
class CoordinatorAwayTest {
    private static final int PAGES = 64;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeAll
    static void start() {
        cluster = Cluster.startProcess();
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @Test
    @Order(1)
    void shouldWaitForACoordinatorThatIsAwayAtStartAndThenRegister() {
        cluster.coordinatorProcess().process().kill();
        cluster.launchAgent("a", Map.of());
        cluster.openAgent("b", Map.of());
        await("it says that it waits", Deadlines.LONG)
                .until(() -> cluster.processes().stream()
                        .allMatch(agent -> agent.process().err().contains("coordinator is away")));
        assertEquals("false", registered(cluster.agent("a")));
        assertEquals(503, cluster.agent("a").page("nowhere", 0).status());

        cluster.coordinatorProcess().restart();
        cluster.awaitAllLinks();
        cluster.agents().forEach(agent -> assertEquals("true", registered(agent)));
    }

    @Test
    @Order(2)
    void shouldFailNoFetchWhileTheCoordinatorIsKilledAndRestarted() throws Exception {
        AgentProcess a = cluster.process("a");
        fill("kept", 1);
        List<Endpoint> endpoints = cluster.client().call(NodeOperations.ENDPOINTS.at("a"));
        List<Space> spaces = cluster.client().spaces();
        String incarnation = cluster.incarnation("b");
        try (Load load = Load.start(a, "kept", PAGES, 4096, 1, 4)) {
            awaitReads(load, 300);
            cluster.coordinatorProcess().process().kill();
            awaitReads(load, 1000);
            cluster.coordinatorProcess().restart();
            Instant restarted = Instant.now();
            awaitReads(load, 300);

            await("heartbeats of both", Deadlines.LONG)
                    .until(() -> cluster.client().nodes().stream()
                            .filter(node -> node.status() == NodeStatus.ACTIVE)
                            .filter(node -> node.leaseExpiry()
                                    .filter(restarted.plus(Duration.ofSeconds(5))::isBefore)
                                    .isPresent())
                            .map(Node::id)
                            .toList()
                            .equals(List.of("a", "b")));
            load.end();
            assertEquals(List.of(), load.refusals());
            assertEquals(List.of(), load.faults());
        }
        assertEquals(incarnation, cluster.incarnation("b"));
        assertEquals(spaces, cluster.client().spaces());
        await("endpoints that the agents publish again", Deadlines.LONG)
                .until(() -> attempts(cluster.client().call(NodeOperations.ENDPOINTS.at("a")))
                        .equals(attempts(endpoints)));
        fill("after", 2);
        cluster.client().deleteSpace("kept");
        cluster.client().deleteSpace("after");
    }

    /** An endpoint that is published again has another index. */
    private static List<Object> attempts(List<Endpoint> endpoints) {
        return endpoints.stream()
                .<Object>map(endpoint -> List.of(endpoint.peer(), endpoint.attempt(), endpoint.entries()))
                .toList();
    }

    @Test
    @Order(3)
    void shouldServeButNotObeyACoordinatorUntilItsStoreIsBack() throws Exception {
        fill("remembered", 3);
        String before = cluster.incarnation("b");
        Path kept = cluster.directory().resolve("kept-store");
        cluster.coordinatorProcess().process().kill();
        Files.move(cluster.coordinator().store(), kept);
        cluster.coordinatorProcess().restart();
        await("both say that they do not obey", Deadlines.LONG)
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> detail(agent, "coordinator").startsWith("not obeyed: it keeps cluster")));
        assertEquals(List.of(), cluster.client().nodes(), "no agent has registered");
        verify("remembered", 3);
        assertEquals(before, detail(cluster.agent("b"), "incarnation"));
        assertEquals(503, cluster.agent("a").page("nowhere", 0).status(), "nothing is concluded from its answers");

        cluster.coordinatorProcess().process().kill();
        Directories.delete(cluster.coordinator().store());
        Files.move(kept, cluster.coordinator().store());
        cluster.coordinatorProcess().restart();
        await("both registered", Deadlines.LONG)
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> registered(agent).equals("true")
                                && detail(agent, "coordinator").equals("obeyed")));
        assertEquals(before, cluster.incarnation("b"));
        verify("remembered", 3);
        fill("after-all", 4);
        verify("after-all", 4);
    }

    private static void verify(String space, long seed) {
        for (long page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    Pages.of(seed, page, 4096),
                    cluster.agent("a").page(space, page).expect(200).body());
        }
    }

    private static String registered(Agent agent) {
        return detail(agent, "registered");
    }

    private static String detail(Agent agent, String name) {
        return agent.rest()
                .get("/health")
                .expect(200)
                .json()
                .get("details")
                .get(name)
                .asString();
    }

    private static void fill(String space, long seed) throws Exception {
        cluster.makeSpace(space, PAGES, 4096, "b");
        LongStream.range(0, PAGES)
                .parallel()
                .forEach(page -> cluster.agent("a")
                        .putPage(space, page, Pages.of(seed, page, 4096))
                        .expect(204));
    }

    private static void awaitReads(Load load, int more) {
        long enough = load.read() + more;
        await(more + " more reads", Deadlines.LONG).until(() -> load.read() >= enough);
    }
}
