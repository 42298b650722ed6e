package io.farpage.it;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.Load;
import io.farpage.it.harness.Pages;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What agents do without a coordinator: what they did before. In order, because the last test wipes the coordinator's store. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class CoordinatorAwayTest {
    private static final int PAGES = 64;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeAll
    static void start() {
        cluster = Cluster.start();
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @Test
    @Order(1)
    void shouldWaitForACoordinatorThatIsAwayAtStartAndThenRegister() {
        cluster.coordinator().process().kill();
        cluster.launchAgent("a", Map.of());
        cluster.launchAgent("b", Map.of());
        await("both say that they wait")
                .atMost(Cluster.PATIENCE)
                .until(() -> cluster.agents().stream()
                        .allMatch(agent -> agent.process().err().contains("coordinator is away")));
        cluster.agents().forEach(AgentProcess::awaitListening);
        assertEquals("false", registered(cluster.agent("a")));
        assertEquals(503, cluster.agent("a").page("nowhere", 0).status());

        cluster.coordinator().restart();
        cluster.awaitAllLinks();
        cluster.agents().forEach(agent -> assertEquals("true", registered(agent)));
    }

    @Test
    @Order(2)
    void shouldFailNoFetchWhileTheCoordinatorIsKilledAndRestarted() throws Exception {
        AgentProcess a = cluster.agent("a");
        fill("kept", 1);
        List<Endpoint> endpoints = cluster.client().endpoints("a");
        List<Space> spaces = cluster.client().spaces();
        String incarnation = cluster.incarnation("b");
        try (Load load = Load.start(a, "kept", PAGES, 4096, 1, 4)) {
            awaitReads(load, 300);
            cluster.coordinator().process().kill();
            awaitReads(load, 1000);
            cluster.coordinator().restart();
            Instant restarted = Instant.now();
            awaitReads(load, 300);

            await("heartbeats of both")
                    .atMost(Cluster.PATIENCE)
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
        assertEquals(endpoints, cluster.client().endpoints("a"));
        fill("after", 2);
        cluster.client().deleteSpace("kept");
        cluster.client().deleteSpace("after");
    }

    @Test
    @Order(3)
    void shouldRegisterAgainByItselfWhenTheCoordinatorLostItsStoreAndGiveOutOnlyZeros() throws Exception {
        fill("forgotten", 3);
        String before = cluster.incarnation("b");
        cluster.coordinator().process().kill();
        Directories.delete(cluster.coordinator().store());
        cluster.coordinator().restart();
        await("both registered")
                .atMost(Cluster.PATIENCE)
                .until(() -> cluster.client().nodes().stream()
                        .filter(node -> node.status() == NodeStatus.ACTIVE)
                        .map(Node::id)
                        .toList()
                        .equals(List.of("a", "b")));
        assertNotEquals(before, cluster.incarnation("b"), "what its memory held is gone");
        cluster.awaitAllLinks();
        await("the space is forgotten")
                .atMost(Cluster.PATIENCE)
                .until(() -> cluster.agent("a").page("forgotten", 0).status() == 404);

        cluster.makeSpace("fresh", PAGES, 4096, "b");
        for (long page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    new byte[4096],
                    cluster.agent("a").page("fresh", page).expect(200).body());
        }
    }

    private static String registered(AgentProcess agent) {
        return agent.rest()
                .get("/health")
                .expect(200)
                .json()
                .get("details")
                .get("registered")
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
        await(more + " more reads").atMost(Cluster.PATIENCE).until(() -> load.read() >= enough);
    }
}
