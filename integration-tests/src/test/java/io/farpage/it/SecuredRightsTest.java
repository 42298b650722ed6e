package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.agent.rest.ArchiveOperations;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.agent.rest.PageOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Rest;
import io.farpage.rest.Operation;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What nodes and roles may do in a cluster with certificates, and what is refused to them. */
@Tag("portable")
class SecuredRightsTest extends SecuredNodes {
    private static final String HEARTBEAT = "{\"incarnation\":\"0000000000000001\"}";

    @Test
    void shouldRefuseWhatANodeSaysOfAnother() throws Exception {
        String before = cluster.incarnation("b");
        Map<String, String> requests = Map.of(
                "PUT /api/v1/nodes/b", "{}",
                "POST /api/v1/nodes/b/heartbeat", HEARTBEAT,
                "POST /api/v1/nodes/b/certificate", "{}",
                "PUT /api/v1/nodes/b/endpoints/a", "{}",
                "POST /api/v1/nodes/b/hosted/ack", "{}",
                "PUT /api/v1/spaces/s/attachments/b", "{}");
        for (var request : requests.entrySet()) {
            String[] parts = request.getKey().split(" ");
            for (Rest other : List.of(as("a"), as(Role.ADMIN), as("coordinator"))) {
                assertRefused(
                        403,
                        "forbidden",
                        "it takes the certificate of node 'b'",
                        other.sendJson(parts[0], parts[1], request.getValue()));
            }
        }
        assertRefused(
                403,
                "forbidden",
                "node 'a' may not DELETE /api/v1/nodes/b",
                as("a").send("DELETE", "/api/v1/nodes/b?incarnation=" + before, "", new byte[0]));
        awaitLogged(
                () -> as("a").sendJson("POST", "/api/v1/nodes/b/hosted/ack", "{}")
                        .expect(403),
                "refused: POST /api/v1/nodes/b/hosted/ack from 127.0.0.1, node 'a'",
                "certificate of node 'b'");
        assertEquals(before, cluster.incarnation("b"));
    }

    @Test
    void shouldShowAnEndpointOnlyToItsTwoNodes() {
        certificates.node("c");
        String path = "/api/v1/nodes/a/endpoints/b";
        as("a").get(path).expect(200);
        as("b").get(path).expect(200);
        as(Role.ADMIN).get(path).expect(200);
        for (Rest other : List.of(as("c"), as(Role.OPERATOR), as(Role.VIEWER))) {
            assertRefused(403, "forbidden", "certificate of node 'a' or the certificate of node 'b'", other.get(path));
        }
        as(Role.VIEWER).get("/api/v1/nodes/a/endpoints").expect(403);
    }

    @Test
    void shouldShowAGrantToTheAttachedNodeAlone() throws Exception {
        certificates.node("c");
        String path = "/api/v1/nodes/b/grants/%d/a"
                .formatted(cluster.client().space("s").orElseThrow().id());
        String attached = "/api/v1/nodes/a/attached";
        cluster.agent("a").page("s", 3).expect(200);
        JsonNode grants = as("a").get(attached).expect(200).json().get("grants");
        assertFalse(grants.isEmpty());
        assertFalse(grants.toString().contains("rkey"));
        for (Rest other : List.of(as("b"), as("c"), as(Role.ADMIN), as(Role.OPERATOR), as("coordinator"))) {
            assertRefused(403, "forbidden", "it takes the certificate of node 'a'", other.get(attached));
        }
        for (Rest other : List.of(as("a"), as("c"), as(Role.ADMIN), as("coordinator"))) {
            assertRefused(403, "forbidden", "it takes the certificate of node 'b'", other.sendJson("PUT", path, "{}"));
        }
        awaitLogged(
                () -> as("c").get(attached).expect(403),
                "refused: GET " + attached + " from 127.0.0.1, node 'c'",
                "certificate of node 'a'");
    }

    @Test
    void shouldGiveEachRoleItsOwn() {
        String space = "{\"name\":\"by-role\",\"sizeBytes\":8192}";
        as(Role.METRICS).get("/metrics").expect(200);
        assertRefused(403, "forbidden", "it takes role viewer", as(Role.METRICS).get("/api/v1/nodes"));
        as(Role.VIEWER).get("/api/v1/overview").expect(200);
        assertRefused(
                403,
                "forbidden",
                "viewer 'viewer' (certificate) may not POST /api/v1/spaces; it takes role operator",
                as(Role.VIEWER).sendJson("POST", "/api/v1/spaces", space));
        as(Role.OPERATOR).sendJson("POST", "/api/v1/spaces", space).expect(201);
        as(Role.OPERATOR)
                .send("DELETE", "/api/v1/spaces/by-role", "", new byte[0])
                .expect(204);
        as(Role.OPERATOR)
                .sendJson("POST", "/api/v1/cluster", "{\"name\":\"x\",\"nodes\":[]}")
                .expect(403);

        Rest agent = cluster.agent("a").rest();
        certificates.as(Role.VIEWER, agent).get("/api/v1/links").expect(200);
        assertRefused(
                403,
                "forbidden",
                "it takes role operator or the certificate of node 'a'",
                certificates.as(Role.VIEWER, agent).get("/api/v1/spaces/s/pages/3"));
        certificates.as(Role.OPERATOR, agent).get("/api/v1/spaces/s/pages/3").expect(200);
        agent.with(certificates.tls("b")).get("/api/v1/spaces/s/pages/3").expect(403);
    }

    @Test
    void shouldServeEachOperationOfAnAgentAndNoOther() throws ReflectiveOperationException {
        JsonNode paths = cluster.agent("a")
                .rest()
                .get("/openapi.json")
                .expect(200)
                .json()
                .get("paths");
        Set<String> documented = new TreeSet<>();
        paths.propertyNames()
                .forEach(path -> paths.get(path)
                        .propertyNames()
                        .forEach(method -> documented.add(method.toUpperCase(Locale.ROOT) + " " + path)));
        List<String> declared =
                new ArrayList<>(List.of("GET /health", "GET /metrics", "GET /openapi.json", "GET /log", "PUT /log"));
        for (Class<?> type :
                List.of(AgentOperations.class, GuestOperations.class, PageOperations.class, ArchiveOperations.class)) {
            for (Field field : type.getFields()) {
                if (field.get(null) instanceof Operation<?, ?> operation) {
                    declared.add(operation.name());
                }
            }
        }
        assertEquals(
                List.copyOf(documented), declared.stream().sorted().toList(), "each operation is bound exactly once");
    }

    /** An agent that is not in the inventory of the cluster is refused, whatever its certificate. */
    @Test
    @Tag("processes")
    void shouldRefuseANodeThatIsNotInTheInventory() throws Exception {
        coordinator()
                .sendJson("POST", "/api/v1/cluster", "{\"name\":\"lab\",\"nodes\":[{\"id\":\"a\"},{\"id\":\"b\"}]}")
                .expect(201);
        try (AgentProcess late = cluster.launchAgent("outsider", certificates.node("outsider"))) {
            await("the refusal in the log", Deadlines.LONG).untilAsserted(() -> {
                String log = late.process().out() + late.process().err();
                assertTrue(log.contains("node 'outsider' is not in the inventory of cluster 'lab'"), log);
            });
            assertEquals(404, coordinator().get("/api/v1/nodes/outsider").status());
        } finally {
            coordinator().send("DELETE", "/api/v1/cluster", "", new byte[0]).expect(204);
        }
    }
}
