package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Access;
import io.farpage.config.HostPort;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a browser can be made to send by a web page of another origin. */
@Tag("portable")
class BrowserCheckTest {

    /** What the service takes. */
    record Body(String text) {}

    private static final Operation<Body, Void> CHANGE =
            Operation.post("/changes", Access.anyone(), "change").taking(Body.class);

    private final RestServer server = RestServer.start(
            new RestServer.Options("test", "1", Entrance.open(new HostPort("127.0.0.1", 0)), 1 << 20, () -> true),
            List.of(
                    new Route(CHANGE, ctx -> Requests.body(ctx, CHANGE)),
                    new Route(Operation.delete("/changes", Access.anyone(), "change.back"), ctx -> {}),
                    new Route(Operation.getText("/text", Access.anyone(), "text/plain"), ctx -> ctx.result("secret"))),
            new Metrics("farpage_test"),
            () -> new Health(true, "test", "1", Map.of(), List.of()),
            RestServer.Around.NOTHING);

    @AfterEach
    void close() {
        server.close();
    }

    private String send(String request) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", server.port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }

    private String post(String headers) throws IOException {
        return send("POST /changes HTTP/1.1\r\n%sConnection: close\r\nContent-Length: 12\r\n\r\n{\"text\":\"a\"}"
                .formatted(headers));
    }

    private String own() {
        return "Host: 127.0.0.1:%d\r\nContent-Type: application/json\r\n".formatted(server.port());
    }

    private static void assertStatus(int status, String answer) {
        assertTrue(answer.startsWith("HTTP/1.1 " + status), answer);
    }

    @Test
    void shouldTakeAChangeFromItsOwnPageAndFromPrograms() throws IOException {
        assertStatus(204, post(own()));
        assertStatus(204, post(own() + "Origin: http://127.0.0.1:" + server.port() + "\r\n"));
        assertStatus(204, post(own() + "Sec-Fetch-Site: same-origin\r\n"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Origin: http://evil.example\r\n",
                "Origin: null\r\n",
                "Origin: http://127.0.0.1\r\n",
                "Origin: https://127.0.0.1:1\r\n",
                "Sec-Fetch-Site: cross-site\r\n",
                "Sec-Fetch-Site: same-site\r\n"
            })
    void shouldRefuseAChangeThatAPageOfAnotherOriginSends(String header) throws IOException {
        String answer = post(own() + header);
        assertStatus(403, answer);
        assertTrue(answer.contains("urn:farpage:problem:cross-origin"), answer);
        assertStatus(
                403,
                send("DELETE /changes HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sConnection: close\r\n\r\n"
                        .formatted(server.port(), header)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"})
    void shouldRefuseAJsonBodyThatIsNotDeclaredAsOne(String type) throws IOException {
        String answer = post("Host: 127.0.0.1:%d\r\n%s".formatted(server.port(), type));
        assertStatus(415, answer);
    }

    /** The page's own name resolves to this address (DNS rebinding), so the browser takes it for the same origin. */
    @Test
    void shouldRefuseAForeignHostAlsoForReading() throws IOException {
        String answer = send(
                "GET /text HTTP/1.1\r\nHost: evil.example:%d\r\nConnection: close\r\n\r\n".formatted(server.port()));
        assertStatus(403, answer);
        assertTrue(answer.contains("foreign-host") && !answer.contains("secret"), answer);
        for (String host : List.of("localhost:80", "LOCALHOST", "127.0.0.1", "[::1]:80", "10.1.2.3:9")) {
            assertStatus(200, send("GET /text HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(host)));
        }
    }

    @Test
    void shouldTellTheListenersOfEveryDecision() throws IOException {
        var told = new java.util.concurrent.ConcurrentLinkedQueue<io.farpage.access.Decision>();
        AccessControl control = AccessControl.open(List.of());
        control.onDecision(told::add);
        try (RestServer other = RestServer.start(
                new RestServer.Options(
                        "test",
                        "1",
                        new Entrance(new HostPort("127.0.0.1", 0), java.util.Optional.empty(), control),
                        1 << 20,
                        () -> true),
                List.of(),
                new Metrics("farpage_test"),
                () -> new Health(true, "test", "1", Map.of(), List.of()),
                RestServer.Around.NOTHING)) {
            for (String host : List.of("localhost", "evil.example")) {
                try (Socket socket = new Socket("127.0.0.1", other.port())) {
                    socket.getOutputStream()
                            .write("GET /health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                                    .formatted(host)
                                    .getBytes(StandardCharsets.ISO_8859_1));
                    socket.getInputStream().readAllBytes();
                }
            }
        }
        assertEquals(
                List.of(true, false),
                told.stream().map(io.farpage.access.Decision::allowed).toList());
    }
}
