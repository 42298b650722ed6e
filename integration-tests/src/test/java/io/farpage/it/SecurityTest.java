package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.certs.Subject;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.RefusedAgent;
import io.farpage.it.harness.Rest;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Certificates that must be refused, in the handshake or with the request, and claims of a client that count for
 * nothing.
 */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SecurityTest extends SecuredNodes {
    private final Certificates foreign;

    SecurityTest(@TempDir Path directory) {
        foreign = new Certificates(directory.resolve("foreign"));
    }

    @Test
    void shouldRefuseAClientWithoutIdentityAndTellItNothing() {
        Rest stranger = coordinator().with(certificates.anonymous());
        assertRefused(
                401,
                "unauthenticated",
                "it has shown neither a client certificate nor a token",
                stranger.get("/api/v1/nodes"));
        awaitLogged(
                () -> stranger.get("/api/v1/nodes").expect(401),
                "refused: GET /api/v1/nodes from 127.0.0.1, a client without identity",
                "it has shown neither a client certificate nor a token");
        stranger.sendJson("PUT", "/api/v1/nodes/x", "{}").expect(401);
        stranger.get("/metrics").expect(401);
        assertEquals(
                stranger.get("/api/v1/nothing").status(),
                stranger.get("/api/v1/spaces").status(),
                "unknown routes");
        assertTrue(stranger.get("/health").expect(200).json().get("details").isEmpty());
        assertFalse(
                coordinator().get("/health").expect(200).json().get("details").isEmpty());

        Rest toAgent = cluster.agent("a").rest().with(certificates.anonymous());
        assertRefused(401, "unauthenticated", "GET /api/v1/links is refused", toAgent.get("/api/v1/links"));
        toAgent.get("/api/v1/spaces/s/pages/3").expect(401);
    }

    @Test
    void shouldRefusePlainHttp() {
        Rest plain = new Rest(coordinator().base().getPort());
        assertThrows(UncheckedIOException.class, () -> plain.get("/api/v1/nodes"));
    }

    @Test
    void shouldRefuseAnExpiredCertificateInTheHandshake() throws Exception {
        certificates.issue("late", Subject.node("late", List.of()), Duration.ofMillis(1));
        Thread.sleep(1_100); // certificates count seconds
        Rest late = coordinator().with(certificates.insisting(certificates, "late"));
        awaitLogged(
                () -> assertThrows(UncheckedIOException.class, () -> late.get("/api/v1/nodes")),
                "refused: TLS handshake from 127.0.0.1",
                "certificate 'CN=late' expired at");
    }

    /** The connection was made while the certificate was valid, and is kept. */
    @Test
    void shouldRefuseACertificateThatExpiresOnAnOpenConnection() throws Exception {
        certificates.issue("brief", Subject.node("a", List.of()), Duration.ofSeconds(4));
        Rest brief = coordinator().with(certificates.insisting(certificates, "brief"));
        brief.get("/api/v1/nodes").expect(200);
        await("401", Deadlines.LONG).pollInterval(Duration.ofMillis(200)).until(() -> {
            Answer answer = brief.get("/api/v1/nodes");
            return answer.status() == 401 && answer.problem().detail().contains("expired at");
        });
    }

    @Test
    void shouldRefuseACertificateOfAForeignCaInTheHandshake() throws Exception {
        foreign.issue("intruder", Subject.node("a", List.of()), Duration.ofDays(1));
        Rest intruder = coordinator().with(certificates.insisting(foreign, "intruder"));
        awaitLogged(
                () -> assertThrows(UncheckedIOException.class, () -> intruder.get("/api/v1/nodes")),
                "refused: TLS handshake from 127.0.0.1",
                "'CN=a' is issued by 'CN=farpage CA",
                "is not a trusted CA");
        Rest toAgent = cluster.agent("a").rest().with(certificates.insisting(foreign, "intruder"));
        assertThrows(UncheckedIOException.class, () -> toAgent.get("/api/v1/spaces/s/pages/3"));
    }

    @Test
    void shouldRefuseACertificateOfItsOwnCaThatNamesNobody() {
        certificates.issue("web", new Subject("web", "https://example.com/web", List.of()), Duration.ofDays(1));
        assertRefused(
                401,
                "unauthenticated",
                "has no URI of the form farpage://",
                as("web").get("/api/v1/nodes"));
    }

    @Test
    void shouldRefuseAChangeThatAWebPageOfAnotherOriginSends() {
        // The browser adds the certificate by itself; fetch() of a form's type is sent without asking first.
        Rest browser = as(Role.ADMIN).with("Origin", "https://evil.example");
        String space = "{\"name\":\"forged\",\"sizeBytes\":8192}";
        assertRefused(403, "cross-origin", "https://evil.example", browser.sendJson("POST", "/api/v1/spaces", space));
        awaitLogged(
                () -> browser.sendJson("POST", "/api/v1/spaces", space).expect(403),
                "refused: POST /api/v1/spaces from 127.0.0.1, admin 'admin' (certificate)",
                "https://evil.example");
        as(Role.ADMIN)
                .send("POST", "/api/v1/spaces", "text/plain", space.getBytes(java.nio.charset.StandardCharsets.UTF_8))
                .expect(415);
        assertEquals(404, coordinator().get("/api/v1/spaces/forged").status());
    }

    /** Such a header from an agent would end all changes. */
    @Test
    void shouldNotBelieveAPersonThatClaimsToHaveSeenANewerHistory() {
        var details = coordinator().get("/health").expect(200).json().get("details");
        String seen =
                details.get("cluster").asString() + "/" + details.get("epoch").asString() + "/999999999";
        for (Role role : List.of(Role.VIEWER, Role.ADMIN)) {
            as(role).with("Farpage-Seen", seen).get("/api/v1/nodes").expect(200);
        }
        coordinator()
                .with(certificates.anonymous())
                .with("Farpage-Seen", seen)
                .get("/api/v1/nodes")
                .expect(401);
        as(Role.OPERATOR)
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"after\",\"sizeBytes\":8192}")
                .expect(201);
    }

    @Test
    @Tag("processes")
    void shouldNotTakeANodesCertificateForACoordinators() {
        Rest impostor = cluster.agent("a").rest();
        Map<String, String> settings = new java.util.HashMap<>(certificates.node("victim"));
        settings.put("coordinator.url", impostor.base().toString());
        settings.put("node.id", "victim");
        settings.put("api.listen", "127.0.0.1:0");
        settings.put("pool.exported", "2MiB");
        settings.put("pool.staging", "2MiB");
        settings.put("pool.hugepages", "off");
        List<String> arguments = new ArrayList<>(List.of("run"));
        settings.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        try (ChildJvm victim = ChildJvm.start("victim", io.farpage.agent.Main.class, arguments)) {
            await("the refusal in the log", Deadlines.LONG).untilAsserted(() -> {
                String log = victim.out() + victim.err();
                assertTrue(
                        log.contains("it is not trusted: certificate 'CN=a' is that of node 'a'; expected is the"
                                + " coordinator's"),
                        log);
            });
        }
    }

    @Test
    void shouldRefuseToStartWithTheCertificateOfAnotherNode() {
        Map<String, String> settings = new java.util.HashMap<>(certificates.node("a"));
        settings.put("node.id", "z");
        settings.put("coordinator.url", coordinator().base().toString());
        List<String> refused = RefusedAgent.open(Optional.empty(), Map.of(), settings);
        assertTrue(
                refused.getFirst().contains("node.id: 'z' is not valid: tls.certificate is that of node 'a'"),
                refused.toString());
    }
}
