package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.PagedRam;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Attachments and guests that are ended while they begin. */
@Tag("soak")
class AttachmentLeakTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 256;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void start() {
        cluster = Cluster.of("a", "b");
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @Test
    void shouldDetachAgainWhenTheExtentsCannotBeRead() throws Exception {
        AtomicBoolean broken = new AtomicBoolean();
        HttpServer proxy = proxy(broken);
        try {
            String url = "http://127.0.0.1:" + proxy.getAddress().getPort();
            cluster.openAgent("c", Map.of("coordinator.url", url));
            cluster.awaitActive("c", "");
            cluster.makeSpace("leak", PAGES, PAGE, "b");
            broken.set(true);
            Answer failed = new Guests(cluster, "c", "b")
                    .tryAttach("leak", "{\"socket\": \"%s\"}".formatted(directory.resolve("leak")));
            assertEquals(503, failed.status(), failed::toString);
            assertEquals(503, cluster.agent("c").page("leak", 0).status());
            broken.set(false);
            await("the attachment's end", Deadlines.LONG)
                    .until(() -> cluster.client().attachments("leak").isEmpty());
            cluster.client().deleteSpace("leak");
        } finally {
            proxy.stop(0);
        }
    }

    @Test
    void shouldDetachOrServeAGuestWhenItsHandoffRacesTheDetachment() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        Guests guests = new Guests(cluster, "a", "b");
        cluster.makeSpace("race", PAGES, PAGE, "b");
        AtomicInteger served = new AtomicInteger();
        for (int round = 0; round < 60; round++) {
            Path socket = directory.resolve("race" + round);
            guests.tryAttach("race", "{\"socket\": \"%s\"}".formatted(socket)).expect(200);
            Thread vmm = Thread.ofPlatform().start(() -> {
                try (PagedRam _ = PagedRam.handOver(socket, PAGES)) {
                    guests.awaitAttached("race");
                    served.incrementAndGet();
                } catch (RuntimeException | AssertionError e) {
                    // Detached before.
                }
            });
            Thread.sleep(random.nextInt(8));
            Answer detached = cluster.agent("a").rest().send("DELETE", "/api/v1/spaces/race/guest", "", new byte[0]);
            if (detached.status() == 204) {
                // It is not served, and nothing of it is left.
                assertEquals(
                        404,
                        cluster.agent("a").rest().get("/api/v1/spaces/race").status());
            } else {
                assertEquals(409, detached.status(), detached::toString);
                vmm.join();
                guests.awaitEnded("race");
                guests.forget("race");
            }
            vmm.join();
            await("the attachment's end", Deadlines.LONG)
                    .until(() -> cluster.client().attachments("race").isEmpty());
        }
        System.out.println(served + " of 60 handoffs were served");
        cluster.client().deleteSpace("race");
    }

    /** The coordinator, but for the extents of spaces while it is broken. */
    private static HttpServer proxy(AtomicBoolean broken) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        HttpClient client = HttpClient.newHttpClient();
        URI target = cluster.coordinator().rest().base();
        server.createContext("/", exchange -> {
            try (exchange) {
                if (broken.get() && exchange.getRequestURI().getPath().endsWith("/extents")) {
                    exchange.sendResponseHeaders(502, -1);
                    return;
                }
                forward(client, target, exchange);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        server.start();
        return server;
    }

    private static void forward(HttpClient client, URI target, HttpExchange exchange)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(target.resolve(exchange.getRequestURI()))
                .method(
                        exchange.getRequestMethod(),
                        BodyPublishers.ofByteArray(exchange.getRequestBody().readAllBytes()));
        exchange.getRequestHeaders().forEach((name, values) -> {
            if (name.toLowerCase(java.util.Locale.ROOT).startsWith("farpage")
                    || name.equalsIgnoreCase("content-type")) {
                values.forEach(value -> request.header(name, value));
            }
        });
        HttpResponse<byte[]> response = client.send(request.build(), BodyHandlers.ofByteArray());
        response.headers().map().forEach((name, values) -> {
            if (!List.of("content-length", "transfer-encoding", "date").contains(name)) {
                exchange.getResponseHeaders().put(name, values);
            }
        });
        byte[] body = response.body();
        exchange.sendResponseHeaders(response.statusCode(), body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
    }
}
