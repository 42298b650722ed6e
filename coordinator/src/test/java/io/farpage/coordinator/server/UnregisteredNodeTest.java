package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Stamp;
import io.farpage.rest.Json;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes that show, with a certificate, an epoch that the coordinator does not know. */
@Tag("portable")
class UnregisteredNodeTest {

    private final Secured secured;
    private int spaces;

    UnregisteredNodeTest(@TempDir Path directory) {
        secured = new Secured(directory, Map.of());
    }

    @AfterEach
    void close() {
        secured.close();
    }

    /** What the node is told after it has said that it saw a later epoch. */
    private HttpResponse<String> showLaterEpoch(HttpClient node, String id) throws Exception {
        HttpResponse<String> now = secured.send(node, "GET", "/api/v1/nodes/" + id, "");
        Stamp stamp = Stamp.read(name -> now.headers().firstValue(name)).orElseThrow();
        Seen later = new Seen(stamp.cluster(), new Epoch(stamp.epoch().number() + 1, 1), stamp.revision() + 1);
        return node.send(
                secured.request("GET", "/api/v1/nodes/" + id, "")
                        .header(Seen.HEADER, later.toString())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private int change(HttpClient operator) throws Exception {
        spaces++;
        return secured.send(operator, "POST", "/api/v1/spaces", "{\"name\":\"s" + spaces + "\",\"sizeBytes\":4096}")
                .statusCode();
    }

    @Test
    void shouldAcceptChangesWhenUnregisteredNodeHasSeenLaterEpoch() throws Exception {
        try (HttpClient a = secured.node("a");
                HttpClient stranger = secured.node("c");
                HttpClient operator = secured.person("ann", Role.OPERATOR)) {
            secured.send(a, "PUT", "/api/v1/nodes/a", Json.STRICT.writeValueAsString(Fixture.node(1, 1 << 20)));
            int before = change(operator);
            HttpResponse<String> refused = showLaterEpoch(stranger, "c");
            assertEquals(409, refused.statusCode());
            assertTrue(refused.body().contains("urn:farpage:problem:behind"), refused::body);
            assertTrue(refused.body().contains("not registered"), refused::body);
            assertEquals(before, change(operator));
        }
    }

    @Test
    void shouldRefuseAllChangesWhenARegisteredNodeHasSeenALaterEpoch() throws Exception {
        try (HttpClient a = secured.node("a");
                HttpClient operator = secured.person("ann", Role.OPERATOR)) {
            secured.send(a, "PUT", "/api/v1/nodes/a", Json.STRICT.writeValueAsString(Fixture.node(1, 1 << 20)));
            assertEquals(409, showLaterEpoch(a, "a").statusCode());
            assertEquals(503, change(operator));
        }
    }
}
