package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Fixture;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is wrong is answered with a problem document that names it, and never changes anything. */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MalformedInputTest {

    private static final String NODE = Json.STRICT.writeValueAsString(Fixture.node(5, 4096));
    private static final String ENDPOINT = Json.STRICT.writeValueAsString(Fixture.endpoint(1, 2, 3));

    private final Running running;

    MalformedInputTest(@TempDir Path directory) {
        running = new Running(directory);
    }

    @BeforeAll
    void registerTwoNodes() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.register("b", Fixture.node(2, 0, "127.0.0.1:7411"));
    }

    @AfterAll
    void close() {
        running.close();
    }

    private static Arguments put(String path, String body, String detail) {
        return Arguments.of("PUT", path, body, 400, detail);
    }

    private static Arguments post(String path, String body, int status, String detail) {
        return Arguments.of("POST", path, body, status, detail);
    }

    private static Arguments get(String path, int status, String detail) {
        return Arguments.of("GET", path, "", status, detail);
    }

    static Stream<Arguments> requests() {
        String node = "/api/v1/nodes/c";
        String endpoint = "/api/v1/nodes/a/endpoints/b";
        return Stream.of(
                put(node, "", "the body is empty"),
                put(node, "null", "the body is null"),
                put(node, "[]", "the body must be an object"),
                put(node, "7", "the body"),
                put(node, "{", "the body is not JSON"),
                put(node, NODE + "x", "the body"),
                put(node, NODE + NODE, "goes on after its end"),
                put(node, "{}", "incarnation is missing"),
                put(node, NODE.replace("\"hostname\":\"host\"", "\"hostname\":null"), "hostname is missing"),
                put(node, NODE.replace("\"hostname\":\"host\"", "\"hostname\":5"), "hostname"),
                put(node, NODE.replace("\"hostname\":\"host\"", "\"hostname\":\"\""), "hostname: ''"),
                put(node, NODE.replace("\"cpus\":2", "\"cpus\":\"2\""), "cpus must be a whole number of 32 bits"),
                put(node, NODE.replace("\"cpus\":2", "\"cpus\":2.5"), "cpus: '2.5'"),
                put(node, NODE.replace("\"cpus\":2", "\"cpus\":99999999999"), "cpus"),
                put(node, NODE.replace("\"cpus\":2", "\"cpus\":0"), "cpus: 0 is not in 1..65536"),
                put(node, NODE.replace("\"cpus\":2", "\"cpus\":2,\"cpus\":3"), "cpus"),
                put(
                        node,
                        NODE.replace("\"cpus\":2", "\"cpus\":2,\"cpu\":3"),
                        "cpu is not a field of this request; known are address, adopts, cpus"),
                put(node, NODE.replace("0000000000000005", "5"), "incarnation: '5' must be 16 hex digits"),
                put(node, NODE.replace("\"devices\":[]", "\"devices\":[null]"), "null"),
                put(node, NODE.replace("\"devices\":[]", "\"devices\":{}"), "devices must be an array"),
                put(node, NODE.replace("\"tcp\"", "\"pigeon\""), "transports[0]: 'pigeon' is not one of rdma, tcp"),
                put(node, NODE.replace("127.0.0.1:7410", "127.0.0.1"), "address: '127.0.0.1' must be host:port"),
                put(node, NODE.replace("127.0.0.1:7410", "127.0.0.1:65536"), "port"),
                put(node, NODE.replace("\"exportedBytes\":4096", "\"exportedBytes\":4097"), "exportedBytes: 4097"),
                put(node, NODE.replace("\"pageSize\":4096", "\"pageSize\":8192"), "pageSize: 8192"),
                put(node, NODE.replaceFirst("}$", ",\"status\":\"failed\"}"), "status: 'failed'"),
                put("/api/v1/nodes/UPPER", NODE, "node id: 'UPPER'"),
                put("/api/v1/nodes/" + "x".repeat(64), NODE, "1 to 63 characters"),
                put("/api/v1/nodes/a%2Fb", NODE, "a/b"),
                put("/api/v1/nodes/-a", NODE, "-a"),
                put(
                        endpoint,
                        ENDPOINT.replace("\"qpn\":17", "\"qpn\":16777216"),
                        "entries[0]: qpn (24 bits): 16777216"),
                put(endpoint, ENDPOINT.replace("\"psn\":5", "\"psn\":-1"), "psn (24 bits): -1"),
                put(endpoint, ENDPOINT.replaceFirst(",\"header\":\\{[^}]*}", ""), "entries[0].header is missing"),
                put(endpoint, ENDPOINT.replace("\"gid\":\"::\"", "\"gid\":\"fe80\""), "gid: 'fe80'"),
                put(endpoint, ENDPOINT.replace("\"mtu\":4096", "\"mtu\":9000"), "mtu: 9000"),
                put(endpoint, ENDPOINT.replace(",\"port\":9000", ""), "a tcp entry needs both"),
                put(endpoint, ENDPOINT.replace("\"tcp\"", "\"rdma\""), "an rdma entry has neither"),
                put(
                        endpoint,
                        ENDPOINT.replaceAll("\"entries\":.*", "\"entries\":[]}"),
                        "entries: number of elements: 0"),
                put(endpoint, ENDPOINT.replaceAll("\\[(.*)]", "[$1,$1]"), "two for transport tcp, shard 0, rail 0"),
                put(endpoint, ENDPOINT.replace("\"attempt\":\"0000000000000003\"", "\"attempt\":\"3\""), "attempt"),
                put(endpoint, ENDPOINT.replace("0x7f0000000000", "7f0000000000"), "address: '7f0000000000' must be 0x"),
                put(endpoint, ENDPOINT.replace("\"0x7f0000000000\"", "5"), "entries[0].header.address"),
                put(endpoint, ENDPOINT.replace("4294967295", "4294967296"), "rkey (32 bits): 4294967296"),
                post("/api/v1/nodes/a/heartbeat", "{\"incarnation\":1}", 400, "incarnation"),
                post("/api/v1/spaces", "{\"name\":\"5\",\"sizeBytes\":4096}", 400, "all digits"),
                post("/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":4095}", 400, "sizeBytes: 4095"),
                post("/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":8192,\"pageSize\":8192}", 400, "pageSize: 8192"),
                post("/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":4096,\"homes\":[]}", 400, "homes"),
                post(
                        "/api/v1/spaces",
                        "{\"name\":\"x\",\"sizeBytes\":4096,\"homes\":[\"absent\"]}",
                        422,
                        "'absent' is not registered"),
                post("/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":9223372036854775807}", 400, "sizeBytes"),
                post("/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":281474976710656}", 507, "do not fit"),
                post(
                        "/api/v1/cluster",
                        "{\"name\":\"x\",\"nodes\":[{\"id\":\"a\"},{\"id\":\"a\"}]}",
                        400,
                        "'a' is listed twice"),
                get("/api/v1/nodes/absent", 404, "'absent' is not registered"),
                get("/api/v1/nodes/absent/endpoints", 404, "'absent'"),
                get("/api/v1/nodes/a/endpoints/absent", 404, "'absent'"),
                get("/api/v1/spaces/none", 404, "no space 'none'"),
                get("/api/v1/spaces/99999999999999999999", 404, "no space"),
                get("/api/v1/events?index=x", 400, "index: 'x' is not a whole number"),
                get("/api/v1/events?index=-1", 400, "index: -1"),
                get("/api/v1/events?wait=61s", 400, "wait: 61s is longer than 60s"),
                get("/api/v1/events?wait=30", 400, "wait: '30'"),
                get("/api/v1/nothing", 404, "/openapi.json"),
                get("/favicon.ico", 404, "/favicon.ico"),
                Arguments.of("DELETE", "/api/v1/nodes/a", "", 400, "'incarnation' is missing"),
                Arguments.of("DELETE", "/api/v1/nodes/a?incarnation=zz", "", 400, "16 hex digits"),
                Arguments.of("DELETE", "/api/v1/nodes/a?incarnation=00000000000000ff", "", 409, "00000000000000ff"),
                Arguments.of("PATCH", "/api/v1/nodes/a", "{}", 405, "allowed: "));
    }

    @ParameterizedTest
    @MethodSource("requests")
    void shouldBeRefusedWithAProblemThatNamesIt(String method, String path, String body, int status, String detail)
            throws IOException, InterruptedException {
        String before = running.send("GET", "/api/v1/overview", "").body();
        Problem problem = assertProblem(running.send(method, path, body));
        assertEquals(status, problem.status(), problem::detail);
        assertTrue(problem.detail().contains(detail), problem::detail);
        assertFalse(problem.detail().contains("io.farpage") || problem.detail().contains("java."), problem::detail);
        assertEquals(before, running.send("GET", "/api/v1/overview", "").body());
    }

    private static Problem assertProblem(HttpResponse<String> response) {
        assertEquals(
                Problem.MEDIA_TYPE,
                response.headers().firstValue("Content-Type").orElse("none"),
                response::body);
        Problem problem = Json.STRICT.readValue(response.body(), Problem.class);
        assertEquals(response.statusCode(), problem.status());
        return problem;
    }

    @Test
    void shouldRefuseABodyThatIsTooLongWithAndWithoutItsLengthGiven() throws Exception {
        byte[] spaces = " ".repeat((4 << 20) + 1).getBytes(StandardCharsets.UTF_8);
        HttpRequest.Builder known = HttpRequest.newBuilder()
                .header("Content-Type", "application/json")
                .PUT(HttpRequest.BodyPublishers.ofByteArray(spaces));
        assertEquals(413, assertProblem(running.send(known, "/api/v1/nodes/c")).status());
        HttpRequest.Builder chunked = HttpRequest.newBuilder()
                .header("Content-Type", "application/json")
                .PUT(HttpRequest.BodyPublishers.ofInputStream(() -> new java.io.ByteArrayInputStream(spaces)));
        assertEquals(
                413, assertProblem(running.send(chunked, "/api/v1/nodes/c")).status());
    }

    @Test
    void shouldRefuseABodyThatSaysItIsNoJson() throws Exception {
        HttpRequest.Builder form = HttpRequest.newBuilder()
                .PUT(HttpRequest.BodyPublishers.ofString(NODE))
                .header("Content-Type", "text/xml");
        assertEquals(415, assertProblem(running.send(form, "/api/v1/nodes/c")).status());
    }

    @Test
    void shouldAnswerWithProblemsWhatIsHardlyHttp() throws Exception {
        for (String raw : new String[] {
            "GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            "GET /" + "x".repeat(20_000) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "\u0001\u0002\u0003\r\n\r\n"
        }) {
            try (Socket socket =
                    new Socket("127.0.0.1", running.coordinator.listening().port())) {
                socket.setSoTimeout(20_000);
                socket.getOutputStream().write(raw.getBytes(StandardCharsets.ISO_8859_1));
                String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertTrue(answer.startsWith("HTTP/1.1 4"), answer);
                assertTrue(answer.contains("application/problem+json"), answer);
                assertFalse(answer.contains("jetty"), answer);
            }
        }
        assertTrue(running.send("GET", "/health", "").body().contains("\"healthy\":true"));
    }
}
