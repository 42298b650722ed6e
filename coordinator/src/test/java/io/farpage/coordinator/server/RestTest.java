package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Json;
import io.farpage.rest.ListenException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Every operation through the real client, server and store. */
@Tag("portable")
class RestTest {

    private static final long POOL = 1 << 20;

    private final Path directory;
    private Running running;

    RestTest(@TempDir Path directory) {
        this.directory = directory;
        this.running = new Running(directory);
    }

    @BeforeEach
    void registerTwoNodes() throws CoordinatorException {
        client().register("a", Fixture.node(1, POOL));
        client().register("b", Fixture.node(2, 0, "127.0.0.1:7411"));
    }

    @AfterEach
    void close() {
        running.close();
    }

    private CoordinatorClient client() {
        return running.client;
    }

    private void restart() {
        FakeTime time = running.time;
        running.close();
        running = new Running(directory, time, Map.of());
    }

    private interface Call {
        void run() throws CoordinatorException;
    }

    private static void assertRefused(int status, String word, Call call) {
        CoordinatorRefusedException refused = assertThrows(CoordinatorRefusedException.class, call::run);
        assertEquals(status, refused.problem().status(), refused.getMessage());
        assertTrue(refused.problem().is(word), refused.getMessage());
    }

    @Test
    void shouldAttachSeveralNodesToACoherentSpace() throws CoordinatorException {
        Space made = client().createSpace(SpaceRequest.of("shared", 8192).asCoherent());
        assertTrue(made.isCoherent());
        Attachment first = client().attach("shared", "a", new AttachRequest(new Incarnation(1), AttachMode.MEMBER));
        Attachment second = client().attach("shared", "b", new AttachRequest(new Incarnation(2), AttachMode.MEMBER));
        assertRefused(
                409,
                "coherent",
                () -> client().attach("shared", "b", new AttachRequest(new Incarnation(2), AttachMode.SHARED)));
        assertRefused(409, "coherent", () -> client().makeSnapshot("shared"));
        restart();
        assertEquals(List.of(first, second), client().attachments("shared"));
        assertTrue(client().space("shared").orElseThrow().isCoherent(), "the store has it");
        assertEquals(
                List.of(HostedAttachment.of(first, 0), HostedAttachment.of(second, 0)),
                client().hosted("a").attachments());
        client().detach("shared", "b", new Incarnation(2), Detachment.PLAIN);
        assertEquals(List.of(first), client().attachments("shared"));
        assertEquals(Optional.empty(), client().space("shared").orElseThrow().torn());
    }

    @Test
    void shouldRegisterHeartbeatAndDeregister() throws CoordinatorException {
        Node node = client().node("a").orElseThrow();
        assertEquals(NodeStatus.ACTIVE, node.status());
        assertEquals(running.time.now().plusSeconds(15), node.leaseExpiry().orElseThrow());
        running.time.advance(Duration.ofSeconds(3));
        Lease lease = client().heartbeat("a", new Incarnation(1));
        assertEquals(15_000, lease.leaseMillis());
        assertEquals(Duration.ofSeconds(5), lease.heartbeatInterval());
        assertEquals(
                running.time.now().plusSeconds(15),
                client().node("a").orElseThrow().leaseExpiry().orElseThrow());
        assertRefused(409, "stale-incarnation", () -> client().heartbeat("a", new Incarnation(7)));
        client().deregister("a", new Incarnation(1), true);
        assertTrue(client().node("a").isEmpty());
        assertRefused(404, "not-found", () -> client().heartbeat("a", new Incarnation(1)));
        assertEquals(List.of("b"), client().nodes().stream().map(Node::id).toList());
    }

    @Test
    void shouldExchangeEndpointsPerPair() throws CoordinatorException {
        assertTrue(client().endpoint("a", "b").isEmpty());
        Endpoint published = client().publishEndpoint("a", "b", Fixture.endpoint(1, 2, 11));
        assertEquals(Optional.of(published), client().endpoint("a", "b"));
        assertEquals(published, client().publishEndpoint("a", "b", Fixture.endpoint(1, 2, 11)), "idempotent");
        assertTrue(client().endpoint("b", "a").isEmpty());
        Endpoint again = client().publishEndpoint("a", "b", Fixture.endpoint(1, 2, 12));
        assertEquals(Optional.of(new Attempt(12)), again.attempt());
        assertTrue(again.index() > published.index());
        assertEquals(List.of(again), client().call(NodeOperations.ENDPOINTS.at("a")));
        assertRefused(409, "stale-incarnation", () -> client().publishEndpoint("a", "b", Fixture.endpoint(9, 2, 1)));
        assertRefused(409, "stale-incarnation", () -> client().publishEndpoint("a", "b", Fixture.endpoint(1, 9, 1)));
        assertRefused(404, "not-found", () -> client().publishEndpoint("a", "absent", Fixture.endpoint(1, 2, 1)));
        assertRefused(400, "invalid", () -> client().publishEndpoint("a", "a", Fixture.endpoint(1, 1, 1)));
        client().tell(NodeOperations.WITHDRAW_ENDPOINT.at("a", "b").with("incarnation", new Incarnation(1)));
        client().tell(NodeOperations.WITHDRAW_ENDPOINT.at("a", "b").with("incarnation", new Incarnation(1)));
        assertTrue(client().endpoint("a", "b").isEmpty());
    }

    /** The keys of the earlier attachment are dead, and the home has yet to publish those of the new one. */
    @Test
    void shouldDropGrantOfEarlierAttachmentWhenNodeAttachesAgain() throws CoordinatorException {
        long space = client().createSpace(SpaceRequest.of("vm1", 8192)).id();
        Incarnation b = new Incarnation(2);
        GrantRequest first = grant(client().attach("vm1", "b", new AttachRequest(b, AttachMode.SHARED)), "c2VhbGVk");
        client().publishGrant("a", space, "b", first);
        assertEquals(List.of("c2VhbGVk"), grantedToB());
        client().detach("vm1", "b", b, Detachment.PLAIN);
        Attachment again = client().attach("vm1", "b", new AttachRequest(b, AttachMode.SHARED));
        assertEquals(List.of(), grantedToB());
        assertRefused(409, "not-attached", () -> client().publishGrant("a", space, "b", first));
        client().publishGrant("a", space, "b", grant(again, "YWdhaW4="));
        assertEquals(List.of("YWdhaW4="), grantedToB());
    }

    private static GrantRequest grant(Attachment attachment, String sealed) {
        return new GrantRequest(new Incarnation(1), attachment.incarnation(), attachment.id(), 1, sealed);
    }

    private List<String> grantedToB() throws CoordinatorException {
        return client().attached("b", 0).grants().stream().map(Grant::sealed).toList();
    }

    @Test
    void shouldFindASpaceUntilItIsDeleted() throws CoordinatorException {
        Space space = client().createSpace(SpaceRequest.of("vm1", 64 << 10));
        assertEquals(Optional.of(space), client().space("vm1"));
        assertEquals(Optional.of(space), client().space(Long.toString(space.id())));
        assertEquals(
                17,
                client().extents("vm1").orElseThrow().extents().getFirst().count(),
                "pages of the guest, and one of the presence map");
        assertRefused(409, "name-taken", () -> client().createSpace(SpaceRequest.of("vm1", 4096)));
        assertRefused(507, "no-room", () -> client().createSpace(SpaceRequest.of("vm2", POOL)));
        client().reportHeat("vm1", new HeatReport(List.of(new HeatReport.Range(2, 3, 40))));
        assertEquals(40, client().call(SpaceOperations.PAGE.at("vm1", 0x2fff)).heat());
        assertEquals(2, client().call(SpaceOperations.PAGE.at("vm1", 0x2fff)).page());
        assertRefused(404, "not-found", () -> client().call(SpaceOperations.PAGE.at("vm1", 64 << 10)));
        client().deleteSpace("vm1");
        assertTrue(client().space("vm1").isEmpty());
        assertTrue(client().extents("vm1").isEmpty());
        Release release = client().hosted("a").releases().getFirst();
        client().acknowledgeHosted(
                        "a",
                        new HostedAck(
                                new Incarnation(1), client().hosted("a").revision(), List.of(), List.of(release.id())));
        assertEquals(List.of(), client().hosted("a").releases());
        client().createSpace(SpaceRequest.of("vm2", POOL));
    }

    /** A space is gone once no node uses it. Its room is free once its home has zeroed it. */
    @Test
    void shouldWaitForTheRoomOfADeletedSpace() throws Exception {
        client().createSpace(SpaceRequest.of("vm1", POOL));
        client().deleteSpace("vm1");
        Release release = client().hosted("a").releases().getFirst();
        try (ExecutorService one = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Space> again = one.submit(() -> client().createSpace(SpaceRequest.of("vm2", POOL)));
            Deadlines.pass(Duration.ofMillis(100));
            assertFalse(again.isDone(), "the home has not zeroed it");
            client().acknowledgeHosted(
                            "a",
                            new HostedAck(
                                    new Incarnation(1),
                                    client().hosted("a").revision(),
                                    List.of(),
                                    List.of(release.id())));
            assertEquals("vm2", again.get().name());
        }
    }

    /** The body is what an agent sends that is older than encrypted spaces. */
    @Test
    void shouldRefuseAnEncryptedSpaceToAnAgentWithoutEncryption() throws Exception {
        String attachment = "/api/v1/spaces/sealed/attachments/b";
        String old = "{\"incarnation\":\"0000000000000002\",\"mode\":\"exclusive\"}";
        running.send(
                "POST", "/api/v1/spaces", "{\"name\":\"sealed\",\"sizeBytes\":8192,\"keyId\":\"0123456789abcdef\"}");
        HttpResponse<String> refused = running.send("PUT", attachment, old);
        assertEquals(409, refused.statusCode(), refused.body());
        assertTrue(refused.body().contains("problem:not-understood"), refused.body());
        assertTrue(
                refused.body().contains("the agent of node 'b' does not understand: encryption; update"),
                refused.body());
        assertEquals(List.of(), client().attachments("sealed"));
        String now = old.replace("}", ",\"features\":[\"a-later-one\",\"encryption\"]}");
        assertEquals(200, running.send("PUT", attachment, now).statusCode());
    }

    @Test
    void shouldRefuseListsOfNodesThatNameNoneOrNoNode() throws Exception {
        client().createSpace(SpaceRequest.of("vm1", 8192));
        for (String wrong :
                List.of("{\"nodes\":[]}", "{\"nodes\":[\"A B\"]}", "{\"nodes\":\"a\"}", "{\"node\":[]}", "[]")) {
            HttpResponse<String> refused = running.send("PUT", "/api/v1/spaces/vm1/nodes", wrong);
            assertEquals(400, refused.statusCode(), wrong + " " + refused.body());
        }
        assertEquals(Optional.empty(), client().space("vm1").flatMap(Space::nodes));
        assertRefused(404, "not-found", () -> client().allow("vm2", new SpaceNodes(Optional.empty())));
        assertEquals(
                Optional.of(List.of("b")),
                client().allow("vm1", new SpaceNodes(Optional.of(List.of("b")))).nodes());
    }

    @Test
    void shouldFormOneClusterAndHoldNodesToTheInventory() throws CoordinatorException {
        ClusterRequest request = new ClusterRequest(
                "lab",
                List.of(
                        new ExpectedNode("a", Optional.empty(), Optional.empty()),
                        new ExpectedNode("c", Optional.empty(), Optional.of("10.0.0.3:7410"))));
        assertTrue(client().cluster().isEmpty());
        assertEquals(List.of("c"), client().formCluster(request).missing());
        assertEquals(List.of("c"), client().formCluster(request).missing(), "idempotent");
        assertRefused(409, "cluster-exists", () -> client().formCluster(new ClusterRequest("other", List.of())));
        assertRefused(409, "inventory-mismatch", () -> client().register("c", Fixture.node(3, 0)));
        client().register("c", Fixture.node(3, 0, "10.0.0.3:7410"));
        assertEquals(List.of(), client().cluster().orElseThrow().missing());
        client().tell(ClusterOperations.DISSOLVE.at());
        assertRefused(404, "not-found", () -> client().tell(ClusterOperations.DISSOLVE.at()));
    }

    @Test
    void shouldWakeLongPollsByTheNextEvent() throws Exception {
        long index = client().events(0, Duration.ZERO).index();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<EventBatch>> waiting = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                waiting.add(threads.submit(() -> client().events(index, Duration.ofSeconds(60))));
            }
            Deadlines.await("400 long polls", Deadlines.SHORT)
                    .until(() -> running.send("GET", "/metrics", "").body().contains("event_watchers 400.0"));
            client().publishEndpoint("a", "b", Fixture.endpoint(1, 2, 1));
            for (Future<EventBatch> one : waiting) {
                EventBatch batch = Deadlines.get("the event", Deadlines.LONG, one);
                assertFalse(batch.resync());
                assertEquals(
                        EventKind.ENDPOINT_PUBLISHED, batch.events().getFirst().kind());
                assertEquals(Optional.of("b"), batch.events().getFirst().peer());
                assertEquals(index + 1, batch.index());
            }
        }
    }

    @Test
    void shouldAnswerAnEmptyBatchAfterTheWait() throws CoordinatorException {
        long index = client().events(0, Duration.ZERO).index();
        EventBatch batch = client().events(index, Duration.ofMillis(50));
        assertEquals(new EventBatch(index, false, List.of()), batch);
        assertTrue(client().events(index + 100, Duration.ofSeconds(30)).resync());
    }

    @Test
    void shouldAnswerLongPollsWhenItEnds() throws Exception {
        long index = client().events(0, Duration.ZERO).index();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<EventBatch> waiting = threads.submit(() -> client().events(index, Duration.ofSeconds(60)));
            Deadlines.await("the long poll", Deadlines.SHORT)
                    .until(() -> running.send("GET", "/metrics", "").body().contains("event_watchers 1.0"));
            running.coordinator.close();
            try {
                EventBatch batch = Deadlines.get(
                        "the answer, long before the minute of the poll is over", Deadlines.SHORT, waiting);
                assertEquals(List.of(), batch.events());
            } catch (ExecutionException e) {
                assertTrue(e.getCause() instanceof CoordinatorUnreachableException, e::toString);
            }
        }
    }

    @Test
    void shouldKeepNodesAndSpacesAfterARestart() throws CoordinatorException {
        client().publishEndpoint("a", "b", Fixture.endpoint(1, 2, 1));
        client().createSpace(SpaceRequest.of("kept", 8192));
        client().createSpace(SpaceRequest.of("gone", 8192));
        client().deleteSpace("gone");
        client().formCluster(new ClusterRequest("lab", List.of()));
        List<Object> before = everything();
        long last = client().events(Long.MAX_VALUE, Duration.ZERO).index();
        restart();
        assertEquals(before, everything());
        assertEquals(List.of(), client().call(NodeOperations.ENDPOINTS.at("a")), "the agents publish them again");
        assertTrue(client().events(Long.MAX_VALUE, Duration.ZERO).index() >= last);
        long index = client().events(Long.MAX_VALUE, Duration.ZERO).index();
        assertTrue(client().events(index - 1, Duration.ZERO).resync(), "events themselves are not kept");
        client().createSpace(SpaceRequest.of("more", 8192));
        assertEquals(index + 1, client().events(index, Duration.ZERO).index());
        assertTrue(client().space("more").orElseThrow().id()
                > client().space("kept").orElseThrow().id() + 1);
    }

    private List<Object> everything() throws CoordinatorException {
        return List.of(
                client().nodes().stream()
                        .map(node -> node.withLeaseExpiry(Optional.empty()))
                        .toList(),
                client().spaces(),
                client().extents("kept").orElseThrow().extents(),
                client().hosted("a").releases(),
                client().cluster().orElseThrow());
    }

    /** In steps: time that passes at once is a standstill of the coordinator, for which no node fails. */
    @Test
    void shouldFailANodeWhenItsLeaseEnds() throws CoordinatorException {
        running.close();
        running = new Running(
                directory, running.time, Map.of("lease.duration", "400ms", "lease.heartbeat_interval", "100ms"));
        Deadlines.await("the end of the lease of node a", Deadlines.SHORT)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    running.time.advance(Duration.ofMillis(20));
                    return client().node("a").orElseThrow().status() == NodeStatus.FAILED;
                });
    }

    @Test
    void shouldSayWhatIsRegisteredAndNothingElseInItsOpenApiDocument() throws IOException, InterruptedException {
        JsonNode document =
                Json.STRICT.readTree(running.send("GET", "/openapi.json", "").body());
        assertEquals("3.1.0", document.get("openapi").asString());
        List<String> documented = new ArrayList<>();
        document.get("paths")
                .properties()
                .forEach(path -> path.getValue()
                        .propertyNames()
                        .forEach(method ->
                                documented.add(method.toUpperCase(java.util.Locale.ROOT) + " " + path.getKey())));
        assertEquals(
                running.coordinator.server().registered(),
                documented.stream().sorted().toList());
        for (String reference : document.findValuesAsString("$ref")) {
            String name = reference.substring("#/components/schemas/".length());
            assertTrue(document.at("/components/schemas/" + name).isObject(), reference);
        }
        JsonNode registration = document.at("/components/schemas/Registration");
        assertEquals("string", registration.at("/properties/incarnation/type").asString());
        assertTrue(registration.get("required").toString().contains("\"hostname\""));
        assertFalse(registration.get("required").toString().contains("\"status\""));
    }

    @Test
    void shouldShowItsHealthMetricsAndDashboard() throws IOException, InterruptedException {
        JsonNode health =
                Json.STRICT.readTree(running.send("GET", "/health", "").body());
        assertTrue(health.get("healthy").asBoolean());
        String metrics = running.send("GET", "/metrics", "").body();
        assertTrue(metrics.contains("farpage_coordinator_nodes{status=\"active\"} 2.0"), metrics);
        assertTrue(
                metrics.contains("farpage_coordinator_http_requests_total{method=\"PUT\",route=\"/api/v1/nodes/{id}\","
                        + "status=\"200\"} 2.0"),
                metrics);
        assertTrue(metrics.contains("farpage_coordinator_store_commit_seconds_count 2"), metrics);
        String page = running.send("GET", "/", "").body();
        assertTrue(page.contains("<title>farpage</title>"));
        assertFalse(page.contains("http://") || page.contains("https://"), "no asset from elsewhere");
        assertFalse(
                page.contains("<style") || page.matches("(?s).*<script(?! type=\"module\" src=\"/dashboard/).*"),
                "no inline code");
        JsonNode overview =
                Json.STRICT.readTree(running.send("GET", "/api/v1/overview", "").body());
        assertEquals(POOL, overview.at("/nodes/0/freeBytes").asLong());
    }

    @Test
    void shouldServeDashboardWithStrictPolicyAndOnlyWhenChanged() throws IOException, InterruptedException {
        List<String> files = running.coordinator.server().registered().stream()
                .filter(route -> route.equals("GET /") || route.startsWith("GET /dashboard/"))
                .map(route -> route.substring("GET ".length()))
                .toList();
        assertTrue(files.size() > 5, files.toString());
        int bytes = 0;
        for (String file : files) {
            var whole = running.send("GET", file, "");
            String policy =
                    whole.headers().firstValue("Content-Security-Policy").orElseThrow();
            assertTrue(policy.startsWith("default-src 'none'; script-src 'self';"), policy);
            assertFalse(policy.contains("unsafe"), policy);
            bytes += whole.body().getBytes(StandardCharsets.UTF_8).length;
            String tag = whole.headers().firstValue("ETag").orElseThrow();
            var again = running.send(HttpRequest.newBuilder().header("If-None-Match", tag), file);
            assertEquals(304, again.statusCode(), file);
            assertEquals("", again.body());
        }
        assertTrue(bytes < 150_000, bytes + " bytes");
    }

    @Test
    void shouldCountLinksAndExtentsOfTheWholeClusterWhenAPageHasNone() throws IOException, InterruptedException {
        JsonNode none = Json.STRICT.readTree(running.send("GET", "/api/v1/overview?limit=0&links=0&spaces=0", "")
                .body());
        assertEquals(0, none.get("spaces").size());
        assertEquals(0, none.get("links").size());
        assertEquals(0, none.at("/totals/links/unanswered").asInt());
        assertEquals(0, none.at("/totals/extents/lost").asInt());
        assertEquals(
                400, running.send("GET", "/api/v1/overview?spaces=1001", "").statusCode());
    }

    @Test
    void shouldSayThatThePortIsTaken() {
        String taken = running.coordinator.listening().toString();
        ListenException refused = assertThrows(
                ListenException.class,
                () -> new Running(directory.resolve("other"), new FakeTime(), Map.of("server.listen", taken)).close());
        assertEquals(
                "cannot listen on " + taken + ": the port is taken; stop what listens there or choose another port",
                refused.getMessage());
    }

    @Test
    void shouldTellUnreachableFromRefused() throws IOException {
        running.close();
        CoordinatorUnreachableException closed =
                assertThrows(CoordinatorUnreachableException.class, () -> client().nodes());
        assertTrue(String.valueOf(closed.getMessage()).contains("closed"));
        try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                CoordinatorClient patient = new CoordinatorClient(
                        URI.create("http://127.0.0.1:" + silent.getLocalPort()), Duration.ofMillis(200))) {
            CoordinatorUnreachableException late = assertThrows(CoordinatorUnreachableException.class, patient::nodes);
            assertTrue(String.valueOf(late.getMessage()).contains("no answer within 200 ms"), late.getMessage());
        }
        try (CoordinatorClient none = new CoordinatorClient(running.coordinator.url(), Duration.ofSeconds(5))) {
            CoordinatorUnreachableException refused = assertThrows(CoordinatorUnreachableException.class, none::nodes);
            assertTrue(String.valueOf(refused.getMessage()).contains("nothing listens"), refused.getMessage());
        }
        assertThrows(
                IllegalArgumentException.class,
                () -> new CoordinatorClient(URI.create("127.0.0.1:7400"), Duration.ofSeconds(1)).close());
        assertTrue(Files.exists(directory));
    }
}
