package io.farpage.agent.control.link;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;

/** Forwards GET requests to a coordinator, except for those that a test has fail. */
final class FailingRequests implements AutoCloseable {
    private static final int FAILED = 500;

    private final URI coordinator;
    private final HttpServer server;
    private final HttpClient client = HttpClient.newHttpClient();
    private volatile Optional<String> failing = Optional.empty();
    private volatile Optional<Answering> answering = Optional.empty();

    private record Answering(String path, Runnable task) {}

    FailingRequests(URI coordinator) throws IOException {
        this.coordinator = coordinator;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::forward);
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Requests whose path begins so fail from now on. */
    void fail(String path) {
        failing = Optional.of(path);
    }

    /** Once the next answer to this path has been made, and before it is passed on, the task is run. */
    void beforeAnswering(String path, Runnable task) {
        answering = Optional.of(new Answering(path, task));
    }

    void failNothing() {
        failing = Optional.empty();
    }

    private void forward(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().toString();
        try (exchange) {
            if (failing.filter(path::startsWith).isPresent()) {
                exchange.sendResponseHeaders(FAILED, -1);
                return;
            }
            HttpResponse<byte[]> answer = client.send(
                    HttpRequest.newBuilder(coordinator.resolve(path)).build(), HttpResponse.BodyHandlers.ofByteArray());
            Optional<Answering> now = answering.filter(one -> one.path().equals(path));
            if (now.isPresent()) {
                answering = Optional.empty();
                now.get().task().run();
            }
            for (Map.Entry<String, java.util.List<String>> header :
                    answer.headers().map().entrySet()) {
                if (!header.getKey().equalsIgnoreCase("content-length")) {
                    exchange.getResponseHeaders().put(header.getKey(), header.getValue());
                }
            }
            exchange.sendResponseHeaders(answer.statusCode(), answer.body().length == 0 ? -1 : answer.body().length);
            exchange.getResponseBody().write(answer.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        server.stop(0);
        client.shutdownNow();
    }
}
