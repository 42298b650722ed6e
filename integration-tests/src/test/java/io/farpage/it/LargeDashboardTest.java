package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dashboard of a large cluster with ten nodes in trouble. The nodes are registered, and no agent runs. */
@Tag("portable")
@Tag("processes")
class LargeDashboardTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int PAGE = 4096;
    private static final long POOL = 1 << 20;
    private static final int AT_ONCE = 16;

    /**
     * Nodes that are shown above all others, in this order: leaving, and with a full pool. None is on the
     * first page of ids.
     */
    private static final List<String> FIRST =
            List.of("n0070", "n0075", "n0080", "n0085", "n0090", "n0095", "n0060", "n0099");

    private static final List<String> MISSING = List.of("x1", "x2");

    @Test
    void shouldShowTheTenNodesInTroubleFirstAmongAHundred() throws Exception {
        show(100);
    }

    @Test
    @Tag("soak")
    void shouldShowTheTenNodesInTroubleFirstAmongAThousand() throws Exception {
        show(1_000);
    }

    private void show(int nodes) throws Exception {
        try (Chromium browser = Chromium.start();
                Cluster cluster = Cluster.start(Map.of(
                        "lease.duration", "1h",
                        "limits.address_rate", "1000000",
                        "limits.address_burst", "1000000"))) {
            register(cluster, nodes);
            cluster.makeSpace("full-1", POOL / PAGE, PAGE, "n0060");
            cluster.makeSpace("full-2", POOL / PAGE, PAGE, "n0099");
            cluster.client()
                    .formCluster(new ClusterRequest(
                            "large",
                            MISSING.stream()
                                    .map(id -> new ExpectedNode(id, Optional.empty(), Optional.empty()))
                                    .toList()));

            browser.open(cluster.coordinator().rest().base().resolve("/"));
            browser.awaitTrue("document.querySelector('#state.live')", TIMEOUT);
            browser.awaitTrue("document.querySelectorAll('#node-table tbody th').length === 58", TIMEOUT);
            assertEquals(FIRST, ids(browser).subList(0, FIRST.size()));
            assertEquals(nodes, Integer.parseInt(browser.text("#figures .value").replace(",", "")));
            String attention = browser.text("#attention");
            for (String node : List.of("n0060", "n0099", "x1", "x2")) {
                assertTrue(attention.contains(node), attention);
            }

            // The next page is one of ids alone, and an event that comes meanwhile leaves it where it is.
            browser.evaluate("document.querySelector('#node-filter [name=next]').click()");
            browser.awaitTrue("document.querySelectorAll('#node-table tbody th').length === 50", TIMEOUT);
            List<String> second = ids(browser);
            assertTrue(
                    second.contains("n0050") && second.contains("n0099") && !second.contains("n0049"),
                    second.toString());
            cluster.makeSpace("made-while-watched", 1, PAGE, "n0001");
            browser.awaitTrue(
                    "document.getElementById('space-table').textContent.includes('made-while-watched')", TIMEOUT);
            assertEquals(second, ids(browser));
            assertEquals(List.of(), browser.complaints());
        }
    }

    private static List<String> ids(Chromium browser) {
        List<String> ids = new ArrayList<>();
        browser.evaluate("[...document.querySelectorAll('#node-table tbody th')].map(cell => cell.textContent)")
                .forEach(id -> ids.add(id.asString()));
        return ids;
    }

    /** Many at a time, so that the store commits them in groups. */
    private static void register(Cluster cluster, int nodes) throws ExecutionException, InterruptedException {
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < nodes; i++) {
                int number = i;
                all.add(threads.submit(() -> register(cluster, number, "n%04d".formatted(number))));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
    }

    private static void register(Cluster cluster, int number, String id) {
        NodeStatus status = switch (FIRST.indexOf(id)) {
            case 0, 1, 2, 3, 4, 5 -> NodeStatus.LEAVING;
            default -> NodeStatus.ACTIVE;
        };
        Registration said = new Registration(
                new Incarnation(number + 1),
                "host-" + number,
                "127.0.0.1:1",
                1,
                POOL,
                List.of(new DeviceInfo(
                        "soft0", TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(POOL, PAGE, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.empty(),
                Optional.of(status),
                Optional.empty(),
                Optional.empty());
        await(id + " is registered", TIMEOUT)
                .ignoreExceptions()
                .until(() -> cluster.client().register(id, said).id().equals(id));
    }
}
