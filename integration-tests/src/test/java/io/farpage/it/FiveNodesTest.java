package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Load;
import io.farpage.it.harness.Pages;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Five nodes, ten links. In order, because the last test ends a node. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("soak")
class FiveNodesTest {
    private static final String[] NODES = {"n1", "n2", "n3", "n4", "n5"};
    private static final int POOL_PAGES = 512;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeAll
    static void start() {
        Map<String, String> settings = Map.of("fetch.deadline", "3s", "pool.exported", "2MiB");
        cluster = Cluster.of(settings, "n1", "n2", "n3", "n4");
        cluster.startAgent("n5", settings);
        cluster.awaitAllLinks();
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @Test
    @Order(1)
    void shouldHaveALinkForEachPairOfFiveNodes() throws Exception {
        for (String node : NODES) {
            Set<String> peers = cluster.client().call(NodeOperations.ENDPOINTS.at(node)).stream()
                    .map(endpoint -> endpoint.peer())
                    .collect(Collectors.toSet());
            assertEquals(4, peers.size(), peers.toString());
        }
    }

    @Test
    @Order(2)
    void shouldSpreadPagesOverSeveralHomesAndReadThemFromEverywhere() throws Exception {
        int pages = 2 * POOL_PAGES + 256; // more than two pools hold
        cluster.makeSpace("spread", pages, 4096);
        Set<String> homes = cluster.client().extents("spread").orElseThrow().extents().stream()
                .map(extent -> extent.primary().node())
                .collect(Collectors.toSet());
        assertTrue(homes.size() >= 3, homes.toString());
        // Every page once from one node, and the pages at both ends of each extent from every node.
        LongStream.range(0, pages)
                .parallel()
                .forEach(page -> writer(page)
                        .putPage("spread", page, Pages.of(5, page, 4096))
                        .expect(204));
        LongStream.range(0, pages)
                .parallel()
                .forEach(page -> Pages.check(
                        writer(page + 1).page("spread", page).expect(200).body(), 5, page, 4096));
        for (var extent : cluster.client().extents("spread").orElseThrow().extents()) {
            for (long page : List.of(extent.firstPage(), extent.firstPage() + extent.count() - 1)) {
                for (Agent reader : cluster.agents()) {
                    Pages.check(reader.page("spread", page).expect(200).body(), 5, page, 4096);
                }
            }
        }
        cluster.client().deleteSpace("spread");
    }

    private static Agent writer(long page) {
        return cluster.agent(NODES[(int) (page % NODES.length)]);
    }

    @Test
    @Order(3)
    void shouldDrainAndDeregisterOnSigtermWithoutLosingAFetchUnderWay() throws Exception {
        AgentProcess leaving = cluster.process("n5");
        await("room on n1", Deadlines.LONG).ignoreExceptions().until(() -> {
            cluster.makeSpace("elsewhere", 64, 4096, "n1");
            return true;
        });
        LongStream.range(0, 64)
                .parallel()
                .forEach(page -> leaving.putPage("elsewhere", page, Pages.of(6, page, 4096))
                        .expect(204));
        Load through = Load.start(leaving, "elsewhere", 64, 4096, 6, 4);
        try (through;
                Load beside = Load.start(cluster.agent("n2"), "elsewhere", 64, 4096, 6, 2)) {
            await("both read", Deadlines.LONG).until(() -> through.read() > 100 && beside.read() > 100);
            leaving.process().terminate();
            assertEquals(0, leaving.process().awaitEnd());
            through.end();
            beside.end();
            assertEquals(List.of(), beside.refusals());
            assertEquals(List.of(), beside.faults());
            assertEquals(List.of(), through.refusals(), "what it took, it answers");
            // Once it has gone, nothing listens; but no answer was wrong or broken off.
            assertEquals(
                    List.of(),
                    through.faults().stream()
                            .filter(fault -> !fault.contains("ConnectException"))
                            .toList());
        }
        assertEquals(
                List.of("n1", "n2", "n3", "n4"),
                cluster.client().nodes().stream().map(Node::id).toList());
        assertTrue(leaving.process().err().contains("deregistered"));
    }
}
