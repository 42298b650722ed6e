package io.farpage.coordinator.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.Main;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.server.Running;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** What an operator sees of a cluster with the commands that change nothing. */
@Tag("portable")
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
    void shouldListOnlyNodesThatNeedAttentionWithTheReason() throws Exception {
        for (String id : List.of("a", "full", "leaving")) {
            running.client.register(id, Fixture.node(id.hashCode(), 1 << 20));
        }
        running.client.createSpace(new SpaceRequest("vm", 1 << 20, OptionalInt.empty(), Optional.of(List.of("full"))));
        running.client.register(
                "leaving", Fixture.node("leaving".hashCode(), 1 << 20).withStatus(NodeStatus.LEAVING));
        running.client.formCluster(new ClusterRequest("small", List.of(expected("a"), expected("x"))));

        List<String> lines = run("nodes", "--attention").out().lines().toList();
        assertEquals(4, lines.size(), lines.toString());
        assertTrue(lines.get(0).matches("NODE +STATUS +ADDRESS +REASON"), lines.get(0));
        assertTrue(lines.get(1).matches("full +active +\\S+ +100 % of its pool are in use;.*"), lines.get(1));
        assertTrue(lines.get(2).matches("leaving +leaving +\\S+ +-"), lines.get(2));
        assertTrue(lines.get(3).matches("x +missing +- +the cluster was formed of it.*"), lines.get(3));
        assertEquals(
                2,
                Json.STRICT
                        .readTree(run("nodes", "--attention", "--json").out())
                        .size());
    }

    @Test
    void shouldListSpacesWithTheirCopiesAndGuests() throws Exception {
        for (String id : List.of("a", "b", "c")) {
            running.client.register(id, Fixture.node(id.hashCode(), 1 << 20));
        }
        SpaceRequest two = new SpaceRequest("vm2", 1 << 16, OptionalInt.empty(), Optional.of(List.of("a", "b")));
        running.client.createSpace(new SpaceRequest(
                two.name(),
                two.sizeBytes(),
                two.pageSize(),
                two.homes(),
                Optional.empty(),
                Optional.empty(),
                OptionalInt.of(2)));
        running.client.createSpace(new SpaceRequest("vm1", 4096, OptionalInt.empty(), Optional.of(List.of("b"))));
        running.client.attach("vm2", "c", new AttachRequest(new Incarnation("c".hashCode()), AttachMode.EXCLUSIVE));

        List<String> lines = run("spaces").out().lines().toList();
        assertEquals("SPACE  ID  SIZE   ALLOCATED  PAGES  COPIES  STATE  HOMES  ATTACHED", lines.get(0));
        assertTrue(lines.get(1).matches("vm1 +2 +4KiB +all +4KiB +1 +ok +b +-"), lines.get(1));
        assertTrue(lines.get(2).matches("vm2 +1 +64KiB +all +4KiB +2 +ok +a,b +c"), lines.get(2));
        assertEquals(
                "there may be more: --after vm1",
                run("spaces", "--limit", "1").out().lines().toList().get(2));
        assertEquals(
                "vm2",
                Json.STRICT
                        .readTree(run("spaces", "--json", "--after", "vm1").out())
                        .at("/0/space/name")
                        .asString());

        List<String> guests = run("guests").out().lines().toList();
        assertEquals(2, guests.size());
        assertTrue(guests.get(1).startsWith("vm2    c     exclusive  64KiB  2       ok     "), guests.get(1));
        assertEquals(1, run("guests", "--node", "a").out().lines().count(), "only the headings");
        assertEquals(
                "c",
                Json.STRICT
                        .readTree(run("guests", "--json").out())
                        .at("/0/attachment/node")
                        .asString());

        running.client.register("b", Fixture.node(99, 1 << 20));
        assertTrue(run("spaces").out().contains("1 of 1 lost"), "the only home has a new pool");
        assertTrue(run("spaces", "--prefix", "vm2").out().contains("degraded"), "one of two homes has a new pool");
    }

    @Test
    void shouldListLinks() throws Exception {
        for (String id : List.of("a", "a2", "b")) {
            running.client.register(id, Fixture.node(id.hashCode(), 1 << 20));
        }
        running.client.publishEndpoint("b", "a", Fixture.endpoint("b".hashCode(), "a".hashCode(), 5));
        running.client.publishEndpoint("a", "b", Fixture.endpoint("a".hashCode(), "b".hashCode(), 5));
        running.client.publishEndpoint("a2", "b", Fixture.endpoint("a2".hashCode(), "b".hashCode(), 5));
        assertEquals(
                List.of(
                        "NODE  PEER  TRANSPORTS  STATE",
                        "a     b     tcp         both published",
                        "a2    b     tcp         b has yet to answer"),
                run("links").out().lines().toList());
        assertEquals(2, run("links", "--node", "a").out().lines().count());
        assertEquals(
                "a2",
                Json.STRICT
                        .readTree(run("links", "--json", "--node", "a2").out())
                        .at("/0/a")
                        .asString());
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
