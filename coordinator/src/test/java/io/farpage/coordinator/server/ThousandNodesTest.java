package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.Main;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.it.deadlines.Deadlines;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The views that an operator has of a cluster of a thousand nodes with ten in trouble. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("soak")
class ThousandNodesTest {

    private static final int NODES = 1_000;
    private static final int AT_ONCE = 16;
    private static final long POOL = 1 << 20;
    private static final Incarnation PASSING = new Incarnation(10_000);
    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(60);
    private static final Duration STEP = Duration.ofMillis(100);

    /** The node with the only copy of a space, and two more, whose leases end. */
    private static final Set<String> FAILED = Set.of("n013", "n100", "n200");

    private static final Set<String> LEAVING = Set.of("n300", "n400", "n600", "n999");
    private static final String FULL = "n500";
    private static final Set<String> MISSING = Set.of("x1", "x2");

    private final Running running;

    ThousandNodesTest(@TempDir Path directory) {
        running = new Running(
                directory, new FakeTime(), Map.of("limits.address_rate", "1000000", "limits.address_burst", "1000000"));
    }

    @BeforeAll
    void start() throws CoordinatorException {
        together(IntStream.range(0, NODES), this::register);
        for (String home : List.of("n013", FULL)) {
            running.client.createSpace(
                    new SpaceRequest("on-" + home, POOL, OptionalInt.empty(), Optional.of(List.of(home))));
        }
        form();
        pass(Duration.ofSeconds(10));
        together(IntStream.range(0, NODES).filter(i -> !FAILED.contains(id(i))), this::heartbeat);
        Deadlines.await("leases end", WAIT).pollInterval(POLL).until(() -> {
            running.time.advance(STEP);
            return running.client
                            .overviewOfNodes(NodeFilter.ALL.withLimit(0))
                            .totals()
                            .nodes()
                            .getOrDefault(NodeStatus.FAILED, 0L)
                    == FAILED.size();
        });
    }

    /** In steps: time that passes at once is a standstill of the coordinator, for which no node fails. */
    private void pass(Duration time) {
        Instant end = running.time.now().plus(time);
        Deadlines.await("time", WAIT).pollInterval(POLL).until(() -> {
            running.time.advance(STEP);
            return !running.time.now().isBefore(end);
        });
    }

    /** The cluster as it was planned: without some nodes that have come, and with two that have not. */
    private void form() throws CoordinatorException {
        running.client.formCluster(new ClusterRequest(
                "big",
                List.of("n001", "n500", "x1", "x2").stream()
                        .map(id -> new ExpectedNode(id, Optional.empty(), Optional.empty()))
                        .toList()));
    }

    /** Many at a time, so that the store commits them in groups. */
    private static void together(IntStream numbers, IntConsumer each) {
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            List<Future<?>> all = new ArrayList<>();
            numbers.forEach(i -> all.add(threads.submit(() -> each.accept(i))));
            for (Future<?> one : all) {
                one.get();
            }
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
    }

    @AfterAll
    void stop() {
        running.close();
    }

    private static String id(int i) {
        return "n%03d".formatted(i);
    }

    private void register(int i) {
        NodeStatus status = LEAVING.contains(id(i)) ? NodeStatus.LEAVING : NodeStatus.ACTIVE;
        try {
            running.client.register(id(i), Fixture.node(i + 1, POOL).withStatus(status));
        } catch (CoordinatorException e) {
            throw new AssertionError(e);
        }
    }

    private void heartbeat(int i) {
        try {
            running.client.heartbeat(id(i), new Incarnation(i + 1));
        } catch (CoordinatorException e) {
            throw new AssertionError(e);
        }
    }

    private List<String> run(String... words) {
        List<String> arguments = new ArrayList<>(List.of(words));
        arguments.addAll(List.of("--coordinator", running.coordinator.url().toString()));
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            Main.execute(arguments.toArray(String[]::new));
            return out.toString(StandardCharsets.UTF_8).lines().toList();
        } finally {
            System.setOut(before);
        }
    }

    private static Set<String> firstWords(List<String> lines) {
        return lines.stream().skip(1).map(line -> line.split(" ")[0]).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> inTrouble() {
        Set<String> all = new TreeSet<>(FAILED);
        all.addAll(LEAVING);
        all.add(FULL);
        all.addAll(MISSING);
        return all;
    }

    @Test
    void shouldListTheTenNodesInTroubleWithTheirReasonsAndNoOther() {
        List<String> lines = run("nodes", "--attention");
        assertEquals(inTrouble(), firstWords(lines));
        assertEquals(11, lines.size(), "headings and ten nodes");
        assertTrue(lines.get(1).matches("n013 +failed +127.0.0.1:7410 +.*the only copy of 1 extents.*"), lines.get(1));
        assertTrue(
                lines.stream().anyMatch(line -> line.matches("n500 +active .*100 % of its pool.*")), lines.toString());
        assertTrue(
                lines.stream().anyMatch(line -> line.matches("x2 +missing .*has not registered.*")), lines.toString());
        assertEquals(FAILED, firstWords(run("nodes", "--attention", "--status", "failed")));
        assertEquals(Set.of("n300"), firstWords(run("nodes", "--attention", "--prefix", "n3")));
    }

    @Test
    void shouldNameWhatIsWrongInAsManyLinesWhateverTheNumberOfNodes() {
        List<String> lines = run("status");
        assertTrue(lines.size() < 20, lines.toString());
        assertTrue(lines.contains("nodes    993 active, 4 leaving, 3 failed"), lines.toString());
        for (String node : List.of("n013", "n100", "n200", "n500", "x1", "x2")) {
            assertTrue(lines.stream().anyMatch(line -> line.contains("node " + node + ":")), node + ": " + lines);
        }
    }

    @Test
    void shouldAnswerInBytesThatDependOnWhatIsAskedFor() throws Exception {
        int none = bytes("/api/v1/overview?limit=0&links=0&spaces=0");
        int attention = bytes("/api/v1/overview?attention=true&limit=50&links=0&spaces=0");
        int page = bytes("/api/v1/overview?limit=50&links=0&spaces=0");
        assertTrue(none < 4_000, none + " bytes with alerts and counts");
        assertTrue(attention < 12_000, attention + " bytes with eight nodes beside");
        assertTrue(page < 40_000, page + " bytes with fifty nodes beside");
        assertEquals(52, run("nodes", "--limit", "50").size(), "headings, a page, and how to get the next one");
    }

    private int bytes(String path) throws Exception {
        HttpResponse<String> answer = running.send("GET", path, "");
        assertEquals(200, answer.statusCode(), answer.body());
        return answer.body().length();
    }

    @Test
    void shouldRefuseAnAttentionThatIsNeitherTrueNorFalse() throws Exception {
        HttpResponse<String> answer = running.send("GET", "/api/v1/overview?attention=much", "");
        assertEquals(400, answer.statusCode());
        assertTrue(answer.body().contains("attention"), answer.body());
    }

    @Test
    void shouldSendAnOverviewAgainOnlyWhenSomethingHasChanged() throws Exception {
        String path = "/api/v1/overview?limit=50";
        String tag = running.send("GET", path, "").headers().firstValue("ETag").orElseThrow();
        running.client.heartbeat("n001", new Incarnation(2));
        HttpResponse<String> same = running.send(HttpRequest.newBuilder().header("If-None-Match", tag), path);
        assertEquals(304, same.statusCode(), "the renewal of a lease does not count as a change");
        assertEquals("", same.body());
        running.client.register("n001", Fixture.node(2, POOL).withStatus(NodeStatus.LEAVING));
        try {
            HttpResponse<String> other = running.send(HttpRequest.newBuilder().header("If-None-Match", tag), path);
            assertEquals(200, other.statusCode());
            assertTrue(other.body().contains("leaving"));
            assertFalse(tag.equals(other.headers().firstValue("ETag").orElseThrow()));
        } finally {
            running.client.register("n001", Fixture.node(2, POOL).withStatus(NodeStatus.ACTIVE));
        }
    }

    /** Nodes come and go before and after the place where the reader is. */
    @Test
    void shouldShowEachNodeOnceOverAllPagesWhileOthersComeAndGo() throws Exception {
        // No other nodes may join a cluster that is formed.
        running.client.tell(ClusterOperations.DISSOLVE.at());
        List<String> seen = new ArrayList<>();
        List<String> passing = new ArrayList<>();
        String after = "";
        for (int page = 0; ; page++) {
            Overview overview =
                    running.client.overviewOfNodes(new NodeFilter(Optional.empty(), false, "n", after, 100));
            if (overview.nodes().isEmpty()) {
                break;
            }
            overview.nodes().forEach(use -> seen.add(use.node().id()));
            after = seen.getLast();
            for (String gone : passing) {
                running.client.deregister(gone, PASSING, true);
            }
            passing.clear();
            if (page < 9) {
                passing.addAll(List.of("n000-" + page, "n%03d-%d".formatted(100 * page + 150, page)));
            }
            for (String other : passing) {
                running.client.register(other, Fixture.node(PASSING.value(), POOL));
            }
        }
        for (String gone : passing) {
            running.client.deregister(gone, PASSING, true);
        }
        form();
        assertEquals(
                IntStream.range(0, NODES).mapToObj(ThousandNodesTest::id).toList(),
                seen.stream().filter(id -> !id.contains("-")).toList());
        assertTrue(seen.size() > NODES, "a node that came after the place of the reader is seen");
    }
}
