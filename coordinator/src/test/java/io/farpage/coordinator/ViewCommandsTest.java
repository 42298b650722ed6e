package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** What an operator sees of a cluster with the commands that change nothing. */
class ViewCommandsTest {

    private static final int NODES = 150;

    private final Running running;

    ViewCommandsTest(@TempDir Path directory) {
        running = new Running(directory, new FakeTime(), Map.of());
    }

    @AfterEach
    void stop() {
        running.close();
    }

    private record Outcome(int code, String out) {}

    private Outcome run(String command, String... more) {
        List<String> arguments = new ArrayList<>(
                List.of(command, "--coordinator", running.coordinator.url().toString()));
        arguments.addAll(List.of(more));
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            int code = Main.execute(arguments.toArray(String[]::new));
            return new Outcome(code, out.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(before);
        }
    }

    @Test
    void shouldShowAClusterWithoutNodes() {
        Outcome status = run("status");
        assertEquals(0, status.code());
        assertTrue(status.out().contains("nodes    none has registered"), status.out());
        assertTrue(status.out().contains("alerts   0 critical, 0 warnings"), status.out());
    }

    @Test
    void shouldFindWhatIsWrongAmongManyNodes() throws Exception {
        for (int i = 0; i < NODES; i++) {
            running.client.register("n%03d".formatted(i), Fixture.node(i + 1, 1 << 20));
        }
        running.client.createSpace(new SpaceRequest("vm", 1 << 20, OptionalInt.empty(), Optional.of(List.of("n050"))));
        running.client.formCluster(
                new ClusterRequest("big", List.of(expected("n001"), expected("n149"), expected("x"))));

        Outcome status = run("status");
        assertEquals(0, status.code(), status.out());
        assertTrue(status.out().contains("nodes    " + NODES + " active"), status.out());
        assertTrue(status.out().contains("alerts   0 critical, 2 warnings"), status.out());
        assertTrue(status.out().contains("  warning  node x: the cluster was formed of it"), status.out());
        assertTrue(status.out().contains("  warning  node n050: 100 % of its pool are in use"), status.out());

        JsonNode json = Json.STRICT.readTree(run("status", "--json").out());
        assertEquals(NODES, json.at("/totals/nodes/active").asInt());
        assertEquals(0, json.at("/nodes").size(), "no node is sent that is not shown");
    }

    private static ExpectedNode expected(String id) {
        return new ExpectedNode(id, Optional.empty(), Optional.empty());
    }

    @Test
    void shouldEndWithOneWhenPagesCannotBeHad() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.createSpace(new SpaceRequest("vm", 4096, OptionalInt.empty(), Optional.of(List.of("a"))));
        running.client.register("a", Fixture.node(2, 1 << 20));
        Outcome status = run("status");
        assertEquals(1, status.code());
        assertTrue(status.out().contains("  critical space vm: the pages of 1 of 1 extents are lost"), status.out());
    }

    @Test
    void shouldListPagesOfNodes() throws Exception {
        for (String id : List.of("a1", "a2", "a3", "b1")) {
            running.client.register(id, Fixture.node(id.hashCode(), 1 << 20));
        }
        Outcome first = run("nodes", "--prefix", "a", "--limit", "2");
        assertEquals(0, first.code());
        List<String> lines = first.out().lines().toList();
        assertEquals("NODE  STATUS  DOMAIN  ADDRESS         TRANSPORTS  POOL  USED", lines.get(0));
        assertEquals("a1    active  a1      127.0.0.1:7410  tcp         1MiB  0 %", lines.get(1));
        assertEquals("there may be more: --after a2", lines.get(3));
        Outcome second = run("nodes", "--prefix", "a", "--limit", "2", "--after", "a2");
        assertTrue(second.out().contains("a3"), second.out());
        assertFalse(second.out().contains("b1"), second.out());
        assertEquals(
                "b1",
                Json.STRICT
                        .readTree(run("nodes", "--json", "--after", "a3", "--status", "active")
                                .out())
                        .at("/0/node/id")
                        .asString());
        assertEquals(1, run("nodes", "--status", "failed").out().lines().count(), "only the headings");
        assertEquals(2, run("nodes", "--status", "tired").code());
    }

    @Test
    void shouldPrintTheEventsOfANode() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.register("b", Fixture.node(2, 1 << 20));
        running.client.publishEndpoint("b", "a", Fixture.endpoint(2, 1, 5));
        Outcome all = run("events");
        assertEquals(0, all.code());
        assertEquals(3, all.out().lines().count(), all.out());
        assertEquals(1, run("events", "--last", "1").out().lines().count());
        List<String> ofA = run("events", "--node", "a").out().lines().toList();
        assertEquals("       1  node-registered       node a", ofA.get(0));
        assertEquals("       3  endpoint-published    node b  peer a", ofA.get(1));
        assertEquals(2, run("events", "--kind", "node-registered").out().lines().count());
        assertEquals(
                "b",
                Json.STRICT
                        .readTree(run("events", "--json", "--last", "1").out())
                        .get("node")
                        .asString());
    }
}
