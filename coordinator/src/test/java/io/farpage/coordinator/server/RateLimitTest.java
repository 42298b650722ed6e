package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.farpage.access.Role;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.model.Stamp;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rate limits of a real coordinator, and what its client makes of them. */
@Tag("portable")
class RateLimitTest {

    private static final String NODES = "/api/v1/nodes";

    @TempDir
    private Path directory;

    private final FakeTime clock = new FakeTime();

    /** A coordinator that limits rates by the clock of the test. */
    private Running limited(Map<String, String> limits) {
        return new Running(directory, new FakeTime(), limits, clock::nanos);
    }

    @Test
    void shouldAnswer429WithRetryAfterWhenAnAddressAsksTooOften() throws Exception {
        try (Running running = limited(Map.of("limits.address_rate", "1", "limits.address_burst", "5"))) {
            for (int i = 0; i < 5; i++) {
                assertEquals(200, running.send("GET", NODES, "").statusCode());
            }
            HttpResponse<String> refused = running.send("GET", NODES, "");
            assertEquals(429, refused.statusCode());
            assertEquals("1", refused.headers().firstValue("Retry-After").orElseThrow());
            assertEquals(
                    "application/problem+json",
                    refused.headers().firstValue("Content-Type").orElseThrow());
            assertTrue(refused.body().contains("127.0.0.1 has made too many requests"), refused.body());
            assertTrue(Stamp.read(refused.headers()::firstValue).isPresent());
            clock.advance(Duration.ofSeconds(1));
            String metrics = running.send("GET", "/metrics", "").body();
            assertTrue(metrics.contains("farpage_coordinator_http_limited_total{limit=\"address\"} 1.0"), metrics);
        }
    }

    @Test
    void shouldLetTheClientWaitInsteadOfFail() throws Exception {
        try (Running running = new Running(
                directory, new FakeTime(), Map.of("limits.address_rate", "1", "limits.address_burst", "2"))) {
            long began = System.nanoTime();
            for (int i = 0; i < 3; i++) {
                assertTrue(running.client.nodes().isEmpty());
            }
            assertTrue(System.nanoTime() - began > Duration.ofMillis(900).toNanos());
        }
    }

    @Test
    void shouldTakeACoordinatorWithoutTimeForOneThatIsAway() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        HttpServer busy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        busy.createContext("/", exchange -> {
            int requests = asked.incrementAndGet();
            byte[] problem = ("{\"type\":\"urn:farpage:problem:too-many-requests\",\"title\":\"x\",\"status\":429,"
                            + "\"detail\":\"x\",\"instance\":\"/\"}")
                    .getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "application/problem+json");
            exchange.getResponseHeaders().add("Retry-After", requests < 3 ? "0" : "600");
            exchange.sendResponseHeaders(429, problem.length);
            exchange.getResponseBody().write(problem);
            exchange.close();
        });
        busy.start();
        try (CoordinatorClient client = new CoordinatorClient(
                URI.create("http://127.0.0.1:" + busy.getAddress().getPort()), Duration.ofMinutes(5))) {
            CoordinatorUnreachableException e = assertThrows(CoordinatorUnreachableException.class, client::nodes);
            assertTrue(String.valueOf(e.getMessage()).contains("status 429, try again in 600 s"), e.getMessage());
            assertEquals(3, asked.get(), "as long as the pause ends before the deadline");
            assertEquals(Optional.empty(), client.allegiance().status().refusal());
        } finally {
            busy.stop(0);
        }
    }

    @Test
    void shouldNotLetOneNodeUseUpWhatAnotherHas() throws Exception {
        try (Secured secured = new Secured(
                        directory, Map.of("limits.identity_rate", "1", "limits.identity_burst", "5"), clock::nanos);
                HttpClient a = secured.node("a");
                HttpClient b = secured.node("b")) {
            Map<Integer, Integer> answers = new TreeMap<>();
            for (int i = 0; i < 30; i++) {
                answers.merge(secured.send(a, "GET", NODES, "").statusCode(), 1, Integer::sum);
            }
            assertEquals(Map.of(200, 5, 429, 25), answers);
            assertEquals(200, secured.send(b, "GET", NODES, "").statusCode());
        }
    }

    @Test
    void shouldPauseTokensOfAnAddressThatShowedTooManyInvalidOnes() throws Exception {
        try (Secured secured = new Secured(
                        directory,
                        Map.of("limits.failures_per_minute", "3", "limits.failure_pause", "2s"),
                        clock::nanos);
                HttpClient node = secured.node("a")) {
            String token = new Tokens(AccessRecords.in(directory.resolve("store")))
                    .create("ann", Role.VIEWER, Optional.empty());
            for (int i = 0; i < 3; i++) {
                assertEquals(
                        401, secured.sendWithToken("guess" + i, "GET", NODES).statusCode());
            }
            HttpResponse<String> refused = secured.sendWithToken(token, "GET", NODES);
            assertEquals(429, refused.statusCode(), refused.body());
            assertEquals("2", refused.headers().firstValue("Retry-After").orElseThrow());
            assertEquals(200, secured.send(node, "GET", NODES, "").statusCode(), "certificates are not affected");
            clock.advance(Duration.ofSeconds(2));
            assertEquals(200, secured.sendWithToken(token, "GET", NODES).statusCode());
        }
    }

    @Test
    void shouldCountALongPollOnce() throws Exception {
        try (Running running = limited(Map.of("limits.address_rate", "1", "limits.address_burst", "2"))) {
            assertEquals(
                    200,
                    running.send("GET", "/api/v1/events?index=0&wait=300ms", "").statusCode());
            assertEquals(200, running.send("GET", NODES, "").statusCode());
            assertEquals(429, running.send("GET", NODES, "").statusCode(), "no time has passed for the limit");
        }
    }
}
