package io.farpage.it;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.certs.Subject;
import io.farpage.coordinator.Main;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cluster with certificates, and all that must be refused: each with the line that the operator sees, while the cluster goes on to serve its
 * own.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SecurityTest {
    private static final int PAGE = 4096;
    private static final String HEARTBEAT = "{\"incarnation\":\"0000000000000001\"}";

    private final Path directory;
    private final Certificates certificates;
    private final Certificates foreign;
    private Cluster cluster;

    SecurityTest(@TempDir Path directory) {
        this.directory = directory;
        certificates = new Certificates(directory.resolve("ca"));
        foreign = new Certificates(directory.resolve("foreign"));
        cluster = Cluster.secured(certificates, Map.of(), "a", "b");
    }

    @BeforeAll
    void makeASpace() throws Exception {
        cluster.makeSpace("s", 16, PAGE, "b");
        cluster.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
    }

    /** After each refusal: the same agents fetch pages and keep their leases. */
    @AfterEach
    void shouldGoOnToServe() {
        assertArrayEquals(
                Pages.of(1, 3, PAGE),
                cluster.agent("a").page("s", 3).expect(200).body());
        for (var node : coordinator().get("/api/v1/nodes").expect(200).json()) {
            assertEquals("active", node.get("status").asString(), node.toString());
        }
    }

    @AfterAll
    void close() {
        cluster.close();
    }

    private Rest coordinator() {
        return cluster.coordinator().rest();
    }

    private Rest as(String name) {
        return coordinator().with(certificates.tls(name));
    }

    private Rest as(Role role) {
        return certificates.as(role, coordinator());
    }

    private void awaitLogged(String... parts) {
        await("a line with " + List.of(parts)).atMost(Cluster.TIMEOUT).untilAsserted(() -> {
            String log = cluster.coordinator().process().err()
                    + cluster.coordinator().process().out();
            assertTrue(
                    log.lines().anyMatch(line -> List.of(parts).stream().allMatch(line::contains)),
                    List.of(parts) + " in " + log);
        });
    }

    private static void assertRefused(int status, String word, String detail, Answer answer) {
        assertEquals(status, answer.status(), answer.toString());
        assertTrue(answer.problem().is(word), answer.toString());
        assertTrue(
                answer.problem().detail().contains(detail),
                detail + " in " + answer.problem().detail());
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
        assertThrows(UncheckedIOException.class, () -> late.get("/api/v1/nodes"));
        awaitLogged("refused: TLS handshake from 127.0.0.1", "certificate 'CN=late' expired at");
    }

    /** The connection was made while the certificate was valid, and is kept. */
    @Test
    void shouldRefuseACertificateThatExpiresOnAnOpenConnection() throws Exception {
        certificates.issue("brief", Subject.node("a", List.of()), Duration.ofSeconds(4));
        Rest brief = coordinator().with(certificates.insisting(certificates, "brief"));
        brief.get("/api/v1/nodes").expect(200);
        await("401")
                .atMost(Cluster.TIMEOUT)
                .pollInterval(Duration.ofMillis(200))
                .until(() -> {
                    Answer answer = brief.get("/api/v1/nodes");
                    return answer.status() == 401 && answer.problem().detail().contains("expired at");
                });
    }

    @Test
    void shouldRefuseACertificateOfAForeignCaInTheHandshake() throws Exception {
        foreign.issue("intruder", Subject.node("a", List.of()), Duration.ofDays(1));
        Rest intruder = coordinator().with(certificates.insisting(foreign, "intruder"));
        assertThrows(UncheckedIOException.class, () -> intruder.get("/api/v1/nodes"));
        awaitLogged("refused: TLS handshake from 127.0.0.1", "'CN=a' is issued by 'CN=farpage CA", "no trusted CA");
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
    void shouldRefuseWhatANodeSaysOfAnother() throws Exception {
        String before = cluster.incarnation("b");
        Map<String, String> requests = Map.of(
                "PUT /api/v1/nodes/b", "{}",
                "POST /api/v1/nodes/b/heartbeat", HEARTBEAT,
                "POST /api/v1/nodes/b/certificate", "{}",
                "PUT /api/v1/nodes/b/endpoints/a", "{}",
                "PUT /api/v1/nodes/b/regions/pool", "{}",
                "POST /api/v1/nodes/b/releases/ack", "{}",
                "POST /api/v1/nodes/b/hosted/ack", "{}",
                "POST /api/v1/nodes/b/fences", "{}",
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
        awaitLogged("refused: POST /api/v1/nodes/b/releases/ack from 127.0.0.1, node 'a'", "certificate of node 'b'");
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
        as(Role.VIEWER).get("/api/v1/nodes/a/regions").expect(403);
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
    void shouldKnowTokensUntilTheyAreRevokedOrOver() {
        Rest https = coordinator().with(certificates.anonymous());
        String token = token("create", "--name", "ann", "--role", "operator");
        Rest ann = https.with("Authorization", "Bearer " + token);
        ann.get("/api/v1/nodes").expect(200);
        ann.sendJson("POST", "/api/v1/cluster", "{}").expect(403);
        assertTrue(token("list").contains("ann") && !token("list").contains(token));
        token("revoke", "--name", "ann");
        assertRefused(401, "unauthenticated", "token 'ann' was revoked at", ann.get("/api/v1/nodes"));
        awaitLogged("refused: GET /api/v1/nodes from 127.0.0.1", "token 'ann' was revoked at");

        Rest job = https.with(
                "Authorization", "Bearer " + token("create", "--name", "job", "--role", "viewer", "--ttl", "1ms"));
        assertRefused(401, "unauthenticated", "token 'job' expired at", job.get("/api/v1/nodes"));
        for (String wrong : List.of("Bearer farpage_x", "Basic YTpi", "Bearer")) {
            https.with("Authorization", wrong).get("/api/v1/nodes").expect(401);
            // A wrong token is not made good by a certificate.
            as("a").with("Authorization", wrong).get("/api/v1/nodes").expect(401);
        }
        String log = cluster.coordinator().process().err()
                + cluster.coordinator().process().out();
        assertFalse(log.contains(token), "a token in the log");
    }

    private String token(String... arguments) {
        List<String> all = new ArrayList<>(List.of("token"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("-D", "store.directory=" + cluster.coordinator().store()));
        return run(all).out().strip();
    }

    private static ChildJvm run(List<String> arguments) {
        ChildJvm command = ChildJvm.start("coordinator-command", Main.class, arguments);
        assertEquals(0, command.awaitEnd(), command.out() + command.err());
        return command;
    }

    @Test
    void shouldRefuseAChangeThatAWebPageOfAnotherOriginSends() {
        // The browser adds the certificate by itself; fetch() of a form's type is sent without asking first.
        Rest browser = as(Role.ADMIN).with("Origin", "https://evil.example");
        String space = "{\"name\":\"forged\",\"sizeBytes\":8192}";
        assertRefused(403, "cross-origin", "https://evil.example", browser.sendJson("POST", "/api/v1/spaces", space));
        awaitLogged("refused: POST /api/v1/spaces from 127.0.0.1, admin 'admin' (certificate)", "https://evil.example");
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
            await().atMost(Cluster.TIMEOUT).untilAsserted(() -> {
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
        List<String> arguments = new ArrayList<>(List.of("run"));
        settings.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        try (ChildJvm agent = ChildJvm.start("misnamed", io.farpage.agent.Main.class, arguments)) {
            assertEquals(1, agent.awaitEnd());
            assertTrue(
                    agent.err().contains("node.id: 'z' is not valid: tls.certificate is that of node 'a'"),
                    agent.err());
        }
    }

    @Test
    void shouldHaveAnEntryForEveryRouteOfAnAgentAndNoOther() {
        var paths = cluster.agent("a")
                .rest()
                .get("/openapi.json")
                .expect(200)
                .json()
                .get("paths");
        java.util.Set<String> documented = new java.util.TreeSet<>(java.util.Set.of("GET /openapi.json"));
        paths.propertyNames()
                .forEach(path -> paths.get(path)
                        .propertyNames()
                        .forEach(method -> documented.add(method.toUpperCase(java.util.Locale.ROOT) + " " + path)));
        assertEquals(
                documented,
                new java.util.TreeSet<>(io.farpage.agent.rest.Rights.table("a").routes()));
    }

    @Test
    void shouldKeepSecretsReadableByTheirOwnerAlone() throws Exception {
        token("create", "--name", "files", "--role", "viewer");
        try (var files = Files.list(cluster.coordinator().store())) {
            for (Path file : files.toList()) {
                String mode =
                        java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
                assertTrue(mode.endsWith("------"), mode + " " + file);
            }
        }
        assertTrue(directory.toFile().exists());
    }

    @Test
    void shouldLetCommandsShowTokensAndCertificates() throws Exception {
        String token = token("create", "--name", "cli", "--role", "viewer");
        Path tokenFile = Files.writeString(directory.resolve("token"), token + "\n");
        Path inventory = Files.writeString(directory.resolve("inventory.yaml"), "cluster: x\nnodes: [{id: a}]\n");
        List<String> up = List.of(
                "up",
                inventory.toString(),
                "--coordinator",
                coordinator().base().toString(),
                "--ca",
                certificates.file("ca.pem").toString());
        assertCommand(Main.class, up, Map.of(), 1, "it has shown neither a client certificate nor a token");
        Map<String, String> environment = Map.of("FARPAGE_TOKEN_FILE", tokenFile.toString());
        assertCommand(
                Main.class,
                up,
                environment,
                1,
                "viewer 'cli' (token) may not POST /api/v1/cluster; it takes role admin");

        List<String> guests =
                List.of("guests", "--agent", cluster.agent("a").rest().base().toString());
        Map<String, String> node = Map.of(
                "FARPAGE_TLS_CA", certificates.file("ca.pem").toString(),
                "FARPAGE_TLS_CERTIFICATE", certificates.file("a.pem").toString(),
                "FARPAGE_TLS_KEY", certificates.file("a.key").toString());
        assertCommand(io.farpage.agent.Main.class, guests, node, 0, "SPACE");
    }

    private static void assertCommand(
            Class<?> main, List<String> arguments, Map<String, String> environment, int code, String said) {
        ChildJvm command = ChildJvm.start("command", main, arguments, environment);
        assertEquals(code, command.awaitEnd(), command.out() + command.err());
        assertTrue((command.out() + command.err()).contains(said), said + " in " + command.out() + command.err());
    }

    /** An agent that is not in the inventory of the cluster is refused, whatever its certificate. */
    @Test
    void shouldRefuseANodeThatIsNotInTheInventory() throws Exception {
        coordinator()
                .sendJson("POST", "/api/v1/cluster", "{\"name\":\"lab\",\"nodes\":[{\"id\":\"a\"},{\"id\":\"b\"}]}")
                .expect(201);
        try (AgentProcess late = cluster.launchAgent("outsider", certificates.node("outsider"))) {
            await().atMost(Cluster.TIMEOUT).untilAsserted(() -> {
                String log = late.process().out() + late.process().err();
                assertTrue(log.contains("node 'outsider' is not in the inventory of cluster 'lab'"), log);
            });
            assertEquals(404, coordinator().get("/api/v1/nodes/outsider").status());
        } finally {
            coordinator().send("DELETE", "/api/v1/cluster", "", new byte[0]).expect(204);
        }
    }
}
