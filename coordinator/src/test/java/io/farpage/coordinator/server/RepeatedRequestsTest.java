package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.Json;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * Requests that are sent once more because the first answer was lost, or that meet what another client has changed
 * meanwhile.
 */
@Tag("portable")
class RepeatedRequestsTest {

    private final Running running;

    RepeatedRequestsTest(@TempDir Path directory) {
        running = new Running(directory);
    }

    @BeforeEach
    void registerAHome() throws CoordinatorException {
        running.client.register("a", Fixture.node(1, 1 << 20));
    }

    @AfterEach
    void close() {
        running.close();
    }

    /** Between the two requests of a client that deletes by name, the name may pass to another space. */
    @Test
    void shouldDeleteTheSpaceThatHadTheNameWhenItWasLookedUp() throws Exception {
        List<String> requests = new CopyOnWriteArrayList<>();
        HttpServer coordinator = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] found =
                Json.STRICT.writeValueAsBytes(new Space(7, "vm1", 4096, 4096, ExtentState.OK, Instant.EPOCH, false));
        coordinator.createContext("/", exchange -> {
            requests.add(
                    exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath());
            boolean isQuestion = exchange.getRequestMethod().equals("GET");
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(isQuestion ? 200 : 204, isQuestion ? found.length : -1);
            if (isQuestion) {
                exchange.getResponseBody().write(found);
            }
            exchange.close();
        });
        coordinator.start();
        try (CoordinatorClient client = new CoordinatorClient(
                URI.create("http://127.0.0.1:" + coordinator.getAddress().getPort()), Duration.ofSeconds(30))) {
            client.deleteSpace("vm1");
            client.deleteSpace("7");
            assertEquals(
                    List.of("GET /api/v1/spaces/vm1", "DELETE /api/v1/spaces/7", "DELETE /api/v1/spaces/7"), requests);
        } finally {
            coordinator.stop(0);
        }
    }

    @Test
    void shouldLeaveANewSpaceOfTheNameAloneWhenADeletionIsRepeated() throws CoordinatorException {
        long first = running.client.createSpace(SpaceRequest.of("vm1", 4096)).id();
        running.client.deleteSpace(first);
        Space second = running.client.createSpace(SpaceRequest.of("vm1", 4096));
        running.client.deleteSpace(first);
        assertEquals(Optional.of(second), running.client.space("vm1"));
    }

    private HttpResponse<String> allow(String nodes, String ifMatch) throws Exception {
        return running.send(
                HttpRequest.newBuilder()
                        .PUT(HttpRequest.BodyPublishers.ofString(nodes))
                        .header("Content-Type", "application/json")
                        .header("If-Match", ifMatch),
                "/api/v1/spaces/vm1/nodes");
    }

    private String tag() throws Exception {
        HttpResponse<String> answer = running.send("GET", "/api/v1/spaces/vm1/nodes", "");
        assertEquals(200, answer.statusCode(), answer.body());
        return answer.headers().firstValue("ETag").orElseThrow();
    }

    @Test
    void shouldRefuseNodeListIfItChangedSinceItWasRead() throws Exception {
        running.client.createSpace(SpaceRequest.of("vm1", 4096));
        String read = tag();
        HttpResponse<String> first = allow("{\"nodes\":[\"a\",\"b\"]}", read);
        assertEquals(200, first.statusCode(), first.body());
        assertEquals(Optional.of(tag()), first.headers().firstValue("ETag"));
        HttpResponse<String> second = allow("{\"nodes\":[\"a\",\"c\"]}", read);
        assertEquals(412, second.statusCode(), second.body());
        assertTrue(second.body().contains("problem:nodes-changed"), second.body());
        assertEquals(
                "{\"nodes\":[\"a\",\"b\"]}",
                running.send("GET", "/api/v1/spaces/vm1/nodes", "").body());
        assertEquals(200, allow("{\"nodes\":[\"a\",\"b\"]}", read).statusCode(), "a repeat of the first");
        assertEquals(
                200,
                allow("{\"nodes\":[\"a\",\"c\"]}", read + ", " + tag()).statusCode(),
                "one of the tags is of the list");
        assertEquals(200, allow("{}", "*").statusCode());
        assertEquals("{}", running.send("GET", "/api/v1/spaces/vm1/nodes", "").body());
        assertEquals(read, tag());
    }

    @Test
    void shouldTellTheListsOfTwoSpacesOfOneNameApart() throws Exception {
        running.client.createSpace(SpaceRequest.of("vm1", 4096));
        String read = tag();
        running.client.deleteSpace("vm1");
        running.client.createSpace(SpaceRequest.of("vm1", 4096));
        assertEquals(412, allow("{\"nodes\":[\"a\"]}", read).statusCode());
    }

    @Test
    void shouldDocumentHeadersThatChangeWhatARequestDoes() throws Exception {
        JsonNode parameter = Json.STRICT
                .readTree(running.send("GET", "/openapi.json", "").body())
                .at("/paths/~1api~1v1~1spaces~1{id}~1nodes/put/parameters/1");
        assertEquals("If-Match", parameter.path("name").asString());
        assertEquals("header", parameter.path("in").asString());
        assertFalse(parameter.path("required").asBoolean());
    }

    private HttpResponse<String> create(String request, String key) throws Exception {
        return running.send(
                HttpRequest.newBuilder()
                        .POST(HttpRequest.BodyPublishers.ofString(request))
                        .header("Content-Type", "application/json")
                        .header("Idempotency-Key", key),
                "/api/v1/spaces");
    }

    @Test
    void shouldAnswerTheSpaceThatTheSameRequestHasMadeBefore() throws Exception {
        String request = "{\"name\":\"vm1\",\"sizeBytes\":4096}";
        HttpResponse<String> first = create(request, "\"k-1\"");
        assertEquals(201, first.statusCode(), first.body());
        HttpResponse<String> again = create(request, "\"k-1\"");
        assertEquals(201, again.statusCode(), again.body());
        assertEquals(first.body(), again.body());
        HttpResponse<String> larger = create(request.replace("4096", "8192"), "\"k-1\"");
        assertEquals(422, larger.statusCode(), larger.body());
        assertTrue(larger.body().contains("problem:key-reused"), larger.body());
        HttpResponse<String> other = create(request, "\"k-2\"");
        assertEquals(409, other.statusCode(), other.body());
        assertTrue(other.body().contains("problem:name-taken"), other.body());
        assertEquals(400, create(request, "k 3").statusCode());
        assertEquals(1, running.client.spaces().size());
    }

    @Test
    void shouldMakeAnotherSpaceWhenThatOfTheRequestWasDeleted() throws Exception {
        String request = "{\"name\":\"vm1\",\"sizeBytes\":4096}";
        create(request, "\"k-1\"");
        long first = running.client.space("vm1").orElseThrow().id();
        running.client.deleteSpace(first);
        assertEquals(201, create(request, "\"k-1\"").statusCode());
        assertTrue(running.client.space("vm1").orElseThrow().id() > first);
    }

    @Test
    void shouldSendACreationWithTheSameKeyAgainWhenItsAnswerIsLost() throws Exception {
        List<String> keys = new CopyOnWriteArrayList<>();
        HttpServer coordinator = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] made =
                Json.STRICT.writeValueAsBytes(new Space(7, "vm1", 4096, 4096, ExtentState.OK, Instant.EPOCH, false));
        coordinator.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            keys.add(String.valueOf(exchange.getRequestHeaders().getFirst("Idempotency-Key")));
            if (keys.size() != 2) {
                exchange.close();
                return;
            }
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(201, made.length);
            exchange.getResponseBody().write(made);
            exchange.close();
        });
        coordinator.start();
        try (CoordinatorClient client = new CoordinatorClient(
                URI.create("http://127.0.0.1:" + coordinator.getAddress().getPort()), Duration.ofSeconds(30))) {
            assertEquals(7, client.createSpace(SpaceRequest.of("vm1", 4096)).id());
            assertThrows(CoordinatorUnreachableException.class, () -> client.createSpace(SpaceRequest.of("vm1", 4096)));
            assertEquals(4, keys.size(), keys.toString());
            assertEquals(keys.get(0), keys.get(1));
            assertEquals(keys.get(2), keys.get(3));
            assertFalse(keys.get(0).equals(keys.get(2)), keys.toString());
        } finally {
            coordinator.stop(0);
        }
    }

    @Test
    void shouldRefuseToDeleteWhatWasNeverThere() {
        for (String never : List.of("vm1", "99")) {
            CoordinatorRefusedException refused =
                    assertThrows(CoordinatorRefusedException.class, () -> running.client.deleteSpace(never));
            assertTrue(refused.problem().is("not-found"), refused.getMessage());
        }
    }
}
