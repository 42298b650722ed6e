package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.RawHttp;
import io.farpage.it.harness.Rest;
import io.farpage.it.harness.TwoNodes;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Whatever is sent to either service, it answers with a problem document of the 400s and goes on. */
@Tag("portable")
@ExtendWith(TwoNodes.class)
class MalformedRequestsTest {
    private static final String REGISTRATION = """
            {"incarnation":"00000000000000aa","hostname":"h","address":"127.0.0.1:1","cpus":1,"memoryBytes":1,\
            "devices":[],"pool":{"exportedBytes":0,"pageSize":4096},"transports":["tcp"]}""";

    private static final List<String> PATHS = List.of(
            "/nothing",
            "/api/v1",
            "/api/v2/nodes",
            "/api/v1/../../etc/passwd",
            "/api/v1/%2e%2e/%2e%2e/etc/passwd",
            "/api/v1/spaces/..%2f..%2fetc%2fpasswd",
            "/api/v1/spaces/%00",
            "/api/v1/spaces/%zz",
            "/api/v1/spaces/%c0%ae%c0%ae",
            "/api/v1/spaces/;x=y",
            "//api/v1/spaces/x",
            "/api/v1/spaces/" + "x".repeat(5000),
            "/api/v1/spaces/a%20b");

    private static final List<String> BODIES = List.of(
            "",
            "{",
            "}",
            "null",
            "[]",
            "\"text\"",
            "42",
            "{}",
            "{\"incarnation\":null}",
            "{\"name\":7,\"sizeBytes\":\"big\"}",
            "{\"name\":\"x\",\"sizeBytes\":-4096}",
            "{\"name\":\"x\",\"sizeBytes\":1e400}",
            "{\"name\":\"x\",\"sizeBytes\":99999999999999999999999999}",
            "{\"name\":\"x\",\"sizeBytes\":4096.5}",
            "{\"name\":\"x\",\"sizeBytes\":4096,\"pageSize\":4097}",
            "{\"name\":\"x\",\"sizeBytes\":4096,\"homes\":[]}",
            "{\"name\":\"x\",\"sizeBytes\":4096,\"homes\":\"a\"}",
            "{\"name\":\"x\",\"sizeBytes\":4096,\"homes\":[null]}",
            "{\"name\":\"x\",\"sizeBytes\":4096,\"color\":\"red\"}",
            "{\"name\":\"x\",\"name\":\"x\",\"sizeBytes\":4096}",
            "{\"name\":\"../x\",\"sizeBytes\":4096}",
            "{\"name\":\"x\",\"sizeBytes\":4096} {}",
            "[".repeat(20_000),
            "{\"a\":".repeat(20_000),
            "\u0000\u0001\u0002",
            REGISTRATION.replace("00000000000000aa", "xyz"),
            REGISTRATION.replace("\"cpus\":1", "\"cpus\":0"),
            REGISTRATION.replace("\"cpus\":1", "\"cpus\":\"1\""),
            REGISTRATION.replace("\"tcp\"", "\"pigeon\""),
            REGISTRATION.replace("127.0.0.1:1", "127.0.0.1:123456"));

    private final JvmLog log = new JvmLog();

    private static final List<String> POSTED =
            List.of("/api/v1/cluster", "/api/v1/spaces", "/api/v1/nodes/a/heartbeat", "/api/v1/nodes/a/hosted/ack");

    private static final List<String> PUT = List.of("/api/v1/nodes/a", "/api/v1/nodes/a/endpoints/b");

    @Test
    void shouldRefuseEveryMalformedBody(Cluster cluster) {
        Rest rest = cluster.coordinator().rest();
        for (String body : BODIES) {
            for (String path : POSTED) {
                refused(rest, "POST", path, body);
            }
            for (String path : PUT) {
                refused(rest, "PUT", path, body);
            }
        }
        assertHealthy(cluster);
    }

    @Test
    void shouldRefuseBodiesThatAreTooLong(Cluster cluster) throws Exception {
        String tooLong = "{\"name\":\"" + "x".repeat(5 << 20) + "\"}";
        refused(cluster.coordinator().rest(), "POST", "/api/v1/spaces", tooLong);
        cluster.makeSpace("short", 1, 4096, "b");
        try {
            for (int length : List.of(0, 1, 4095, 4097, 5 << 20)) {
                Answer answer = cluster.agent("a").putPage("short", 0, new byte[length]);
                assertRefused(answer, "a page of " + length);
            }
        } finally {
            cluster.client().deleteSpace("short");
        }
        assertHealthy(cluster);
    }

    @Test
    void shouldRefuseUnknownPathsMethodsAndParameters(Cluster cluster) throws Exception {
        cluster.makeSpace("there", 2, 4096, "b");
        try {
            for (Rest rest :
                    List.of(cluster.coordinator().rest(), cluster.agent("a").rest())) {
                for (String path : PATHS) {
                    for (String method : List.of("GET", "PUT", "DELETE")) {
                        assertRefused(RawHttp.send(rest, method, path, ""), method + " " + path);
                    }
                }
                for (String method : List.of("PATCH", "BREW", "DELETE", "TRACE")) {
                    assertRefused(RawHttp.send(rest, method, "/health", ""), method + " /health");
                }
            }
            Rest coordinator = cluster.coordinator().rest();
            for (String path : List.of(
                    "/api/v1/nodes/absent",
                    "/api/v1/nodes/UPPER/endpoints",
                    "/api/v1/nodes/a/endpoints/absent",
                    "/api/v1/spaces/there/pages/-1",
                    "/api/v1/spaces/there/pages/0x",
                    "/api/v1/spaces/there/pages/8192",
                    "/api/v1/spaces/there/pages/0xffffffffffffffff",
                    "/api/v1/spaces/there/pages/99999999999999999999",
                    "/api/v1/spaces/there/pages/one",
                    "/api/v1/events?index=-1",
                    "/api/v1/events?index=x",
                    "/api/v1/events?index=1&wait=forever",
                    "/api/v1/events?index=1&wait=1h")) {
                assertRefused(coordinator.get(path), path);
            }
            Rest agent = cluster.agent("a").rest();
            for (String page : List.of(
                    "-1",
                    "2",
                    "010x",
                    "0x",
                    "0xg",
                    "-0x1",
                    "#1",
                    "1.0",
                    "one",
                    "99999999999999999999",
                    "0xffffffffffffffff",
                    "9223372036854775807",
                    "%20")) {
                assertRefused(agent.get("/api/v1/spaces/there/pages/" + page), "page " + page);
                assertRefused(
                        agent.send("PUT", "/api/v1/spaces/there/pages/" + page, "", new byte[4096]), "page " + page);
            }
            for (String space : List.of("nowhere", "UPPER", "..", "%2e%2e", "%2e%2e%2fnodes", "a%2fb", "%3f", "%00")) {
                assertRefused(RawHttp.send(agent, "GET", "/api/v1/spaces/" + space + "/pages/0", ""), space);
                assertRefused(RawHttp.send(agent, "DELETE", "/api/v1/spaces/" + space + "/pages/0", ""), space);
            }
            for (String peer : List.of("absent", "a", "UPPER", "%00", "x".repeat(1000))) {
                assertRefused(RawHttp.send(agent, "POST", "/api/v1/links/" + peer, ""), "link to " + peer);
            }
            assertEquals(200, agent.get("/api/v1/spaces/there/pages/0x1").status());
        } finally {
            cluster.client().deleteSpace("there");
        }
        assertHealthy(cluster);
    }

    @Test
    void shouldRefuseWhatIsNotHttp(Cluster cluster) {
        SplittableRandom random = new SplittableRandom(1);
        for (Rest rest :
                List.of(cluster.coordinator().rest(), cluster.agent("a").rest())) {
            // The one refusal that has a code of its own above the 400s.
            assertEquals(
                    505,
                    RawHttp.exchange(rest, "GET /health HTTP/9.9\r\n\r\n")
                            .problem()
                            .status());
            assertRefused(RawHttp.exchange(rest, "GET /health HTTP/1.1\r\n\r\n"), "no host");
            assertRefused(RawHttp.exchange(rest, "GET\r\n\r\n"), "no path");
            assertRefused(
                    RawHttp.exchange(
                            rest, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(20_000) + "\r\n\r\n"),
                    "long header");
            assertRefused(
                    RawHttp.exchange(
                            rest, "POST /api/v1/spaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
                    "negative length");
            for (int i = 0; i < 50; i++) {
                byte[] noise = new byte[random.nextInt(1, 200)];
                random.nextBytes(noise);
                // Any answer will do, and none as well: the service must only live on.
                RawHttp.exchange(rest, new String(noise, StandardCharsets.ISO_8859_1) + "\r\n\r\n");
            }
        }
        assertHealthy(cluster);
    }

    private static void refused(Rest rest, String method, String path, String body) {
        String what = method + " " + path + " " + body.substring(0, Math.min(80, body.length()));
        assertRefused(rest.sendJson(method, path, body), what);
    }

    private static void assertRefused(Answer answer, String what) {
        assertTrue(answer.status() >= 400 && answer.status() < 500, what + ": " + answer);
        var problem = answer.problem();
        assertFalse(problem.title().isBlank(), what + ": " + answer);
        assertFalse(answer.text().contains("Exception"), what + ": " + answer);
    }

    @AfterEach
    void closeLog() {
        log.close();
    }

    private void assertHealthy(Cluster cluster) {
        cluster.coordinator().rest().get("/health").expect(200);
        cluster.agents().forEach(agent -> agent.rest().get("/health").expect(200));
        List<String> failed = log.lines().stream()
                .filter(line -> line.contains("failed unexpectedly"))
                .toList();
        assertEquals(List.of(), failed);
    }
}
