package io.farpage.agent.control.guest;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Between an agent and its coordinator. Loses requests for snapshots, or their answers. */
final class LossyProxy implements AutoCloseable {
    private static final String SNAPSHOT = "/snapshot";

    /** What becomes of a request for a snapshot. */
    enum Fate {
        ANSWERED,
        ANSWER_LOST,
        LOST
    }

    /** The requests for snapshots, in the order in which they came. */
    final List<SnapshotRequest> asked = new CopyOnWriteArrayList<>();

    volatile Fate fate = Fate.ANSWERED;

    private final URI coordinator;
    private final HttpClient client = HttpClient.newHttpClient();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;

    LossyProxy(URI coordinator) throws IOException {
        this.coordinator = coordinator;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::pass);
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private void pass(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            Fate now = Fate.ANSWERED;
            if (exchange.getRequestURI().getPath().endsWith(SNAPSHOT)) {
                now = fate;
                asked.add(Json.STRICT.readValue(body, SnapshotRequest.class));
            }
            if (now != Fate.LOST) {
                HttpResponse<byte[]> answer = forward(exchange, body);
                if (now == Fate.ANSWERED) {
                    answer(exchange, answer);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private HttpResponse<byte[]> forward(HttpExchange exchange, byte[] body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        coordinator.resolve(exchange.getRequestURI().toString()))
                .method(exchange.getRequestMethod(), HttpRequest.BodyPublishers.ofByteArray(body));
        List<String> types = exchange.getRequestHeaders().getOrDefault("Content-Type", List.of());
        types.forEach(type -> request.header("Content-Type", type));
        return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    private static void answer(HttpExchange exchange, HttpResponse<byte[]> answer) throws IOException {
        answer.headers().map().forEach((name, values) -> {
            if (!name.equalsIgnoreCase("content-length") && !name.startsWith(":")) {
                values.forEach(value -> exchange.getResponseHeaders().add(name, value));
            }
        });
        byte[] body = answer.body();
        exchange.sendResponseHeaders(answer.statusCode(), body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
        client.close();
    }
}
