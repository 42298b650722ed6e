package io.farpage.agent;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionRequest;
import io.farpage.coordinator.model.Registration;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/** The coordinator of a {@link Rehearsal}, on the loopback address alone: a cluster of one node without spaces, which keeps nothing. */
final class RehearsalCoordinator implements AutoCloseable {
    private static final long EVENT_NANOS = 50_000_000;

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    RehearsalCoordinator() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    URI url() {
        InetSocketAddress at = server.getAddress();
        return URI.create("http://%s:%d".formatted(at.getAddress().getHostAddress(), at.getPort()));
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            Optional<Object> answer =
                    answer(exchange.getRequestMethod(), exchange.getRequestURI().getPath(), body);
            if (answer.isEmpty()) {
                exchange.sendResponseHeaders(204, -1);
                return;
            }
            byte[] text = Json.STRICT.writeValueAsBytes(answer.get());
            exchange.getResponseHeaders().add("Content-Type", AgentTarget.JSON);
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
        }
    }

    private Optional<Object> answer(String method, String path, byte[] body) {
        String[] parts = path.substring(1).split("/");
        String what = parts[Math.min(parts.length, 5) - 1];
        boolean isRegion = parts.length == 6 && parts[4].equals("regions");
        return switch (method + " " + (isRegion ? "region" : parts.length == 4 ? "node" : what)) {
            case "PUT node" ->
                Optional.of(Node.of(parts[3], Json.LENIENT.readValue(body, Registration.class), Instant.now()));
            case "PUT region" -> {
                RegionRequest said = Json.LENIENT.readValue(body, RegionRequest.class);
                yield Optional.of(
                        new Region(parts[3], parts[5], said.incarnation(), said.address(), said.length(), said.keys()));
            }
            case "POST heartbeat" -> Optional.of(new Lease(60_000, 1_000, NodeStatus.ACTIVE, 0));
            case "GET nodes", "GET fences", "GET releases" -> Optional.of(List.of());
            case "GET hosted" -> Optional.of(Hosted.NOTHING);
            case "GET events" -> {
                LockSupport.parkNanos(EVENT_NANOS);
                yield Optional.of(new EventBatch(0, false, List.of()));
            }
            default -> Optional.empty();
        };
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
