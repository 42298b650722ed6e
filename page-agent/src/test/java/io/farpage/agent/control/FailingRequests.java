package io.farpage.agent.control;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** Forwards requests to a coordinator, except for those that a test has fail or be refused. */
public final class FailingRequests implements AutoCloseable {
    private static final int FAILED = 500;
    private static final int UNAVAILABLE = 503;

    private final URI coordinator;
    private final HttpServer server;
    private final HttpClient client = HttpClient.newHttpClient();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicInteger refusals = new AtomicInteger();
    private volatile String refusing = "";
    private volatile Optional<Problem> refusal = Optional.empty();
    private volatile Optional<String> failing = Optional.empty();
    private volatile Optional<Answering> answering = Optional.empty();

    private final Map<String, Integer> forwarded = new ConcurrentHashMap<>();

    private record Answering(String path, Runnable task) {}

    /** @param coordinator that it forwards to */
    public FailingRequests(URI coordinator) throws IOException {
        this.coordinator = coordinator;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::forward);
        server.start();
    }

    public URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Requests whose path begins so fail from now on. */
    public void fail(String path) {
        failing = Optional.of(path);
    }

    /** The next requests whose path begins so are refused as by a coordinator whose store cannot be written. */
    public void refuse(String path, int times) {
        refuse(path, times, new Problem("about:blank", "Store failed", UNAVAILABLE, "the disk refuses to write", path));
    }

    /** The next requests whose path begins so are refused. */
    public void refuse(String path, int times, Problem as) {
        refusing = path;
        refusal = Optional.of(as);
        refusals.set(times);
    }

    /** How many requests are still to be refused. */
    public int refusals() {
        return refusals.get();
    }

    /** How many requests such as {@code GET /api/v1/nodes} have come. */
    public int count(String request) {
        return forwarded.getOrDefault(request, 0);
    }

    /** How many requests have come that begin so. */
    public int countOf(String beginning) {
        return forwarded.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(beginning))
                .mapToInt(Map.Entry::getValue)
                .sum();
    }

    /** Once the next answer to this path has been made, and before it is passed on, the task is run. */
    public void beforeAnswering(String path, Runnable task) {
        answering = Optional.of(new Answering(path, task));
    }

    public void failNothing() {
        failing = Optional.empty();
    }

    private void forward(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().toString();
        forwarded.merge(exchange.getRequestMethod() + " " + path, 1, Integer::sum);
        try (exchange) {
            if (failing.filter(path::startsWith).isPresent()) {
                exchange.sendResponseHeaders(FAILED, -1);
                return;
            }
            if (path.startsWith(refusing) && refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                refuse(exchange, refusal.orElseThrow());
                return;
            }
            HttpRequest request = HttpRequest.newBuilder(coordinator.resolve(path))
                    .method(
                            exchange.getRequestMethod(),
                            HttpRequest.BodyPublishers.ofByteArray(
                                    exchange.getRequestBody().readAllBytes()))
                    .header("Content-Type", "application/json")
                    .build();
            HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
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

    private static void refuse(HttpExchange exchange, Problem as) throws IOException {
        byte[] problem = Json.STRICT.writeValueAsBytes(as);
        exchange.getResponseHeaders().add("Content-Type", Problem.MEDIA_TYPE);
        exchange.sendResponseHeaders(as.status(), problem.length);
        exchange.getResponseBody().write(problem);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
        client.shutdownNow();
    }
}
