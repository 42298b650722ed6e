package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.coordinator.Main;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.rest.Json;
import io.farpage.rest.Operation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a real coordinator writes into its audit, and what not. */
@Tag("portable")
class CoordinatorAuditTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String SPACES = "/api/v1/spaces";
    private static final String SPACE = "{\"name\":\"s1\",\"sizeBytes\":2097152,\"pageSize\":4096,\"home\":\"a\"}";

    @TempDir
    private Path directory;

    private static List<JsonNode> lines(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(JSON::readTree).toList();
    }

    private static JsonNode only(List<JsonNode> lines, Predicate<JsonNode> wanted) {
        List<JsonNode> found = lines.stream().filter(wanted).toList();
        assertEquals(1, found.size(), lines.stream().map(JsonNode::toString).collect(Collectors.joining("\n")));
        return found.getFirst();
    }

    private static Predicate<JsonNode> act(String word, String result) {
        return line -> line.get("act").asString().equals(word)
                && line.get("result").asString().equals(result);
    }

    /** A backup changes nothing and is audited all the same: it hands out all that the coordinator knows. */
    @Test
    void shouldHaveAnAuditWordForEachChangeThatIsNotRoutine() throws Exception {
        TreeSet<String> words = new TreeSet<>();
        TreeSet<String> routine = new TreeSet<>();
        List<Operation<?, ?>> operations = new ArrayList<>(DeclaredOperations.all());
        try (Running running = new Running(directory)) {
            operations.addAll(running.coordinator.server().operations());
        }
        for (Operation<?, ?> operation : operations) {
            if (!operation.act().equals(Operation.ROUTINE)) {
                words.add(operation.act() + " " + operation.name());
            } else if (operation.method() != Operation.Method.GET) {
                routine.add(operation.name());
            }
        }
        String expected = """
                certificate.renew POST /api/v1/nodes/{id}/certificate
                cluster.dissolve DELETE /api/v1/cluster
                cluster.form POST /api/v1/cluster
                grant.give PUT /api/v1/nodes/{id}/grants/{space}/{node}
                grant.give PUT /api/v1/nodes/{id}/grants/{space}/{node}/pulls/{page}/{epoch}
                log.level PUT /log
                node.drain POST /api/v1/nodes/{id}/drain
                node.drain-cancel DELETE /api/v1/nodes/{id}/drain
                node.join POST /api/v1/join
                node.register PUT /api/v1/nodes/{id}
                node.remove DELETE /api/v1/nodes/{id}
                rebuild.finish POST /api/v1/rebuild/finish
                rebuild.report PUT /api/v1/rebuild/nodes/{id}
                space.allocate POST /api/v1/spaces/{id}/attachments/{node}/allocations
                space.allow PUT /api/v1/spaces/{id}/nodes
                space.allow-pulls POST /api/v1/spaces/{id}/attachments/{node}/pulls
                space.attach PUT /api/v1/spaces/{id}/attachments/{node}
                space.clone POST /api/v1/spaces/{id}/clones
                space.clone PUT /api/v1/spaces/{id}/clones/{clone}/attachments/{node}
                space.create POST /api/v1/spaces
                space.deallocate POST /api/v1/spaces/{id}/attachments/{node}/deallocations
                space.delete DELETE /api/v1/spaces/{id}
                space.detach DELETE /api/v1/spaces/{id}/attachments/{node}
                space.drop POST /api/v1/spaces/{id}/attachments/{node}/drops
                space.promote POST /api/v1/spaces/{id}/attachments/{node}/promotions
                space.pull POST /api/v1/nodes/{id}/pulls
                space.replicate PUT /api/v1/spaces/{id}/replicas
                space.snapshot POST /api/v1/spaces/{id}/attachments/{node}/snapshot
                space.snapshot POST /api/v1/spaces/{id}/snapshot
                store.backup GET /api/v1/backup
                """;
        assertEquals(expected, String.join("\n", words) + "\n");
        assertEquals(
                Set.of(
                        "POST /api/v1/nodes/{id}/heartbeat",
                        "POST /api/v1/nodes/{id}/figures",
                        "POST /api/v1/nodes/{id}/copies",
                        "PUT /api/v1/nodes/{id}/endpoints/{peer}",
                        "DELETE /api/v1/nodes/{id}/endpoints/{peer}",
                        "POST /api/v1/nodes/{id}/hosted/ack",
                        "POST /api/v1/spaces/{id}/attachments/{node}/drops/ack",
                        "POST /api/v1/spaces/{id}/heat"),
                routine);
    }

    @Test
    void shouldTellHowManyExtentsALeavingNodeTookWithIt() throws Exception {
        try (Secured secured = new Secured(directory, Map.of());
                HttpClient node = secured.node("a");
                HttpClient admin = secured.person("adam", Role.ADMIN)) {
            String registration = Json.STRICT.writeValueAsString(Fixture.node(1, 1 << 20));
            assertEquals(
                    200,
                    secured.send(node, "PUT", "/api/v1/nodes/a", registration).statusCode());
            assertEquals(
                    201,
                    secured.send(admin, "POST", SPACES, "{\"name\":\"s1\",\"sizeBytes\":4096}")
                            .statusCode());
            String own = "/api/v1/nodes/a?incarnation=0000000000000001";
            assertEquals(409, secured.send(admin, "DELETE", own, "").statusCode());
            assertEquals(204, secured.send(node, "DELETE", own, "").statusCode());
        }
        List<JsonNode> lines = lines(directory.resolve("store/audit.json"));
        assertEquals(
                409, only(lines, act("node.remove", "failed")).get("status").asInt());
        assertEquals(1, only(lines, act("node.remove", "ok")).get("lost").asInt());
    }

    @Test
    void shouldTellOfActsAndRefusalsButNotOfReads() throws Exception {
        try (Secured secured = new Secured(directory, Map.of("server.max_body", "64KiB"));
                HttpClient node = secured.node("a");
                HttpClient viewer = secured.person("vera", Role.VIEWER);
                HttpClient admin = secured.person("adam", Role.ADMIN);
                HttpClient stranger = secured.stranger()) {
            secured.send(admin, "POST", "/api/v1/cluster", "{\"name\":\"c1\",\"nodes\":[{\"id\":\"a\"}]}");
            assertEquals(200, secured.send(viewer, "GET", "/api/v1/nodes", "").statusCode());
            assertEquals(403, secured.send(viewer, "POST", SPACES, SPACE).statusCode());
            assertEquals(
                    403,
                    secured.send(node, "DELETE", "/api/v1/nodes/b?incarnation=1", "")
                            .statusCode());
            assertEquals(401, secured.send(stranger, "GET", "/api/v1/nodes", "").statusCode());
            assertEquals(
                    404, secured.send(admin, "DELETE", SPACES + "/none", "").statusCode());
            assertEquals(
                    413,
                    secured.send(admin, "POST", SPACES, " ".repeat(100 << 10)).statusCode());
            secured.send(node, "POST", "/api/v1/nodes/a/heartbeat", "{\"incarnation\":\"0000000000000001\"}");
        }
        List<JsonNode> lines = lines(directory.resolve("store/audit.json"));
        JsonNode refused = only(
                lines,
                act("space.create", "refused").and(line -> line.get("status").asInt() == 403));
        assertEquals(
                "{\"kind\":\"viewer\",\"name\":\"vera\"}", refused.get("who").toString());
        assertEquals("127.0.0.1", refused.get("from").asString());
        assertEquals("certificate", refused.get("proof").asString());
        assertTrue(refused.get("reason").asString().contains("it takes role operator"), refused.toString());
        assertEquals("coordinator", refused.get("program").asString());
        JsonNode other = only(lines, act("node.remove", "refused"));
        assertEquals("{\"kind\":\"node\",\"name\":\"a\"}", other.get("who").toString());
        assertEquals("/api/v1/nodes/b", other.get("target").asString());
        JsonNode unknown =
                only(lines, line -> line.get("who").get("kind").asString().equals("stranger"));
        assertEquals(401, unknown.get("status").asInt());
        JsonNode failed = only(lines, act("space.delete", "failed"));
        assertEquals(404, failed.get("status").asInt());
        only(
                lines,
                act("space.create", "refused").and(line -> line.get("status").asInt() == 413));
        only(lines, line -> line.get("act").asString().equals("cluster.form"));
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("store/audit.json"))));
    }

    @Test
    void shouldTellOfJoinsAndNeverOfSecrets() throws Exception {
        String join;
        String token;
        try (Secured secured = new Secured(directory, Map.of())) {
            join = new JoinTokens(AccessRecords.in(directory.resolve("store")))
                    .create("a", List.of(), Duration.ofMinutes(5));
            token = new Tokens(AccessRecords.in(directory.resolve("store")))
                    .create("ann", Role.OPERATOR, Optional.empty());
            try (HttpClient stranger = secured.stranger()) {
                String body = "{\"node\":\"a\",\"token\":\"%s\",\"signingRequest\":\"rubbish\"}";
                secured.send(stranger, "POST", "/api/v1/join", body.formatted("wrong-" + join));
                secured.send(stranger, "POST", "/api/v1/join", body.formatted(join));
                // Not JSON: the parser's message would repeat the word.
                secured.send(stranger, "POST", "/api/v1/join", join);
                secured.send(stranger, "POST", "/api/v1/join", "{\"node\":\"a\",\"" + join + "\":1}");
            }
            secured.sendWithToken(token, "DELETE", SPACES + "/none");
            secured.sendWithToken("x" + token, "DELETE", SPACES + "/none");
            secured.sendWithToken(token, "GET", "/api/v1/nodes/a/endpoints");
            secured.sendWithToken(token, "POST", SPACES + "?token=" + token);
        }
        Path file = directory.resolve("store/audit.json");
        String text = Files.readString(file);
        assertFalse(text.contains(token.substring(8)), text);
        assertFalse(text.contains(join.substring(8)), text);
        List<JsonNode> lines = lines(file);
        assertTrue(lines.stream().anyMatch(act("node.join", "refused")), text);
        assertTrue(lines.stream()
                .filter(act("node.join", "refused"))
                .allMatch(line -> line.get("joins").asString().equals("a")));
        JsonNode deleted = only(lines, act("space.delete", "failed"));
        assertEquals(
                "{\"kind\":\"operator\",\"name\":\"ann\"}", deleted.get("who").toString());
        assertEquals("token", deleted.get("proof").asString());
    }

    @Test
    void shouldTellOfHandshakesAndHeadersThatAreRefused() throws Exception {
        try (Secured secured = new Secured(directory, Map.of())) {
            try (Socket plain = new Socket(
                    "127.0.0.1", secured.running.coordinator.listening().port())) {
                plain.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                plain.getInputStream().readAllBytes();
            } catch (IOException e) {
                assertTrue(String.valueOf(e.getMessage()).contains("reset"), e.toString());
            }
        }
        JsonNode handshake = only(lines(directory.resolve("store/audit.json")), act("tls.handshake", "refused"));
        assertEquals("127.0.0.1", handshake.get("from").asString());
        try (Running running = new Running(directory.resolve("plain"), new FakeTime(), Map.of());
                Socket socket =
                        new Socket("127.0.0.1", running.coordinator.listening().port())) {
            OutputStream out = socket.getOutputStream();
            out.write(("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(20_000) + "\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            socket.getInputStream().read();
        }
        JsonNode header = only(lines(directory.resolve("plain/audit.json")), act("request", "refused"));
        assertEquals(431, header.get("status").asInt());
    }

    @Test
    void shouldDoNothingThatCannotBeAuditedIfThatIsRequired() throws Exception {
        Path kept = directory.resolve("kept");
        try (Running running = new Running(
                directory.resolve("store"),
                new FakeTime(),
                Map.of(
                        "audit.required",
                        "true",
                        "audit.file",
                        kept.resolve("audit.json").toString()))) {
            Path away = directory.resolve("away");
            Files.move(kept, away);
            Files.writeString(kept, "in the way");
            HttpResponse<String> refused =
                    running.send("POST", "/api/v1/cluster", "{\"name\":\"c1\",\"nodes\":[{\"id\":\"a\"}]}");
            assertEquals(503, refused.statusCode(), refused.body());
            assertTrue(refused.body().contains("audit-unavailable"), refused.body());
            assertEquals(
                    404, running.send("GET", "/api/v1/cluster", "").statusCode(), "reads go on, and nothing was done");
            String metrics = running.send("GET", "/metrics", "").body();
            assertFalse(metrics.contains("farpage_coordinator_audit_failures_total 0.0"), metrics);
            Files.delete(kept);
            Files.move(away, kept);
            assertEquals(
                    201,
                    running.send("POST", "/api/v1/cluster", "{\"name\":\"c1\",\"nodes\":[{\"id\":\"a\"}]}")
                            .statusCode());
        }
        List<JsonNode> lines = lines(kept.resolve("audit.json"));
        only(lines, act("cluster.form", "ok"));
        assertTrue(lines.stream().anyMatch(act("cluster.form", "begun")));
        only(lines, act("cluster.form", "failed"));
    }

    @Test
    void shouldTellOfTokensThatCommandsMake() throws Exception {
        Path store = directory.resolve("store");
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try (Running running = new Running(store)) {
            String set = "store.directory=" + store;
            assertEquals(0, Main.execute("token", "create", "--name", "ann", "--role", "viewer", "-D", set));
            assertEquals(0, Main.execute("token", "revoke", "--name", "ann", "-D", set));
            running.client.nodes();
        } finally {
            System.setOut(before);
        }
        List<JsonNode> lines = lines(store.resolve("audit.json"));
        JsonNode created = only(lines, act("token.create", "ok"));
        assertEquals("ann", created.get("target").asString());
        assertEquals("user", created.get("who").get("kind").asString());
        assertEquals("viewer", created.get("role").asString());
        only(lines, act("token.revoke", "ok"));
        String secret = out.toString(StandardCharsets.UTF_8).lines().findFirst().orElseThrow();
        assertTrue(secret.length() > 20, secret);
        assertFalse(Files.readString(store.resolve("audit.json")).contains(secret.substring(8)));
    }
}
