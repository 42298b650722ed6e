package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.Json;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
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

/** Requests that are sent once more because the first answer was lost, or that meet what another client has changed meanwhile. */
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

    @Test
    void shouldRefuseToDeleteWhatWasNeverThere() {
        for (String never : List.of("vm1", "99")) {
            CoordinatorRefusedException refused =
                    assertThrows(CoordinatorRefusedException.class, () -> running.client.deleteSpace(never));
            assertTrue(refused.problem().is("not-found"), refused.getMessage());
        }
    }
}
