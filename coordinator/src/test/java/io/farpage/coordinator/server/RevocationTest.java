package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.command.Commands;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a node whose key was stolen is shut out, over connections that are open all the time. */
@Tag("portable")
class RevocationTest {

    private static final String NODE = "/api/v1/nodes/a";

    @TempDir
    private Path directory = Path.of("");

    private static void register(Secured secured, HttpClient node) throws IOException, InterruptedException {
        HttpResponse<String> answer =
                secured.send(node, "PUT", NODE, Json.STRICT.writeValueAsString(Fixture.node(1, 1 << 20)));
        assertEquals(200, answer.statusCode(), answer.body());
    }

    private static HttpResponse<String> renew(Secured secured, HttpClient node, String key)
            throws IOException, InterruptedException {
        String request = Json.STRICT.writeValueAsString(new CertificateRequest(secured.signingRequest(key)));
        return secured.send(node, "POST", NODE + "/certificate", request);
    }

    @Test
    void shouldRefuseANodeWhoseCertificatesWereRevoked() throws Exception {
        try (Secured secured = new Secured(directory, Map.of());
                HttpClient node = secured.node("a")) {
            register(secured, node);
            Commands.Outcome revoked =
                    Commands.run("certs", "revoke", "a", "-D", "store.directory=" + directory.resolve("store"));
            assertEquals(0, revoked.code(), revoked.err());
            Deadlines.await("the revocation", Deadlines.LONG)
                    .until(() -> secured.send(node, "GET", NODE, "").statusCode() == 401);
            assertTrue(secured.send(node, "GET", NODE, "").body().contains("were revoked at"));
            assertEquals(401, renew(secured, node, "a").statusCode());
        }
    }

    @Test
    void shouldRenewForTheKeyOfANodeOfTheClusterAlone() throws Exception {
        try (Secured secured = new Secured(directory, Map.of());
                HttpClient node = secured.node("a");
                HttpClient admin = secured.person("ann", Role.ADMIN)) {
            assertEquals(403, renew(secured, node, "a").statusCode(), "not registered");
            register(secured, node);
            assertEquals(200, renew(secured, node, "a").statusCode());
            assertEquals(403, renew(secured, node, "ann").statusCode(), "for another key");
            assertEquals(
                    204,
                    secured.send(admin, "DELETE", NODE + "?incarnation=0000000000000001", "")
                            .statusCode());
            assertEquals(403, renew(secured, node, "a").statusCode(), "removed");
        }
    }

    @Test
    void shouldEndConnectionsOfACaThatIsTrustedNoLonger() throws Exception {
        try (Secured secured = new Secured(directory, Map.of("tls.reload", "100ms"));
                HttpClient node = secured.node("a")) {
            register(secured, node);
            secured.changeCa();
            Deadlines.await("the connection is cut", Deadlines.LONG).until(() -> isCut(secured, node));
        }
    }

    private static boolean isCut(Secured secured, HttpClient node) throws InterruptedException {
        try {
            secured.send(node, "GET", NODE, "");
            return false;
        } catch (IOException e) {
            return true; // the client trusts only the CA that was replaced, so it cannot connect again
        }
    }
}
