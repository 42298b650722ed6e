package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Rest;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What is sent to a service whose heap is small: it refuses what does not fit, lives on, and starts again with what it
 * has stored.
 */
@Tag("portable")
@Tag("processes")
class MemoryBoundsTest {
    private static final String REGISTRATION = """
            {"incarnation":"%016x","hostname":"h","address":"127.0.0.1:%d","cpus":1,"memoryBytes":1,\
            "devices":[],"pool":{"exportedBytes":1048576,"pageSize":4096},"transports":["tcp"],"status":"active"}""";
    private static final Map<String, String> LONG_LEASES =
            Map.of("lease.duration", "10m", "lease.heartbeat_interval", "1m");
    private static final int MIB = 1 << 20;

    @Test
    void shouldAnswerOthersWhileManyLongBodiesStayUnfinished() throws Exception {
        try (Cluster cluster = Cluster.startProcess(LONG_LEASES)) {
            Rest coordinator = cluster.coordinator().rest();
            register(coordinator, "a", 1);
            space(coordinator, "there");
            List<Socket> unfinished = new ArrayList<>();
            try {
                for (int i = 0; i < 64; i++) {
                    String path = i % 2 == 0 ? "/api/v1/spaces/none-" + i + "/heat" : "/api/v1/spaces/there/heat";
                    unfinished.add(sendAllButTheLastByte(coordinator, "POST", path, 4 * MIB));
                }
                for (int i = 0; i < 20; i++) {
                    coordinator.get("/health").expect(200);
                    coordinator
                            .sendJson("POST", "/api/v1/nodes/a/heartbeat", "{\"incarnation\":\"%016x\"}".formatted(1))
                            .expect(200);
                }
            } finally {
                for (Socket socket : unfinished) {
                    socket.close();
                }
            }
            await("long bodies are taken again", Duration.ofSeconds(20))
                    .untilAsserted(() -> coordinator
                            .sendJson("POST", "/api/v1/spaces/there/heat", heat(0, 100) + " ".repeat(MIB))
                            .expect(204));
            assertTrue(cluster.coordinatorProcess().process().isAlive(), cluster::describe);
        }
    }

    @Test
    @Tag("soak")
    void shouldBoundTheHeatOfAllSpacesTogether() throws Exception {
        try (Cluster cluster = Cluster.startProcess(LONG_LEASES)) {
            Rest coordinator = cluster.coordinator().rest();
            register(coordinator, "a", 1);
            big(coordinator);
            int refused = 0;
            for (int space = 0; space < 12; space++) {
                for (int part = 0; part < 2; part++) {
                    Answer answer = coordinator.sendJson(
                            "POST", "/api/v1/spaces/big-" + space + "/heat", heat(part * 100_000, 50_000));
                    refused += answer.status() >= 400 ? 1 : 0;
                    assertTrue(
                            answer.status() < 300 || answer.status() == 413 || answer.status() == 503,
                            answer::toString);
                }
            }
            assertTrue(refused > 0, "nothing was refused");
            assertTrue(cluster.coordinatorProcess().process().isAlive(), cluster::describe);
            coordinator.get("/api/v1/spaces/big-0/pages/0").expect(200);
        }
    }

    /** Twelve spaces of 2^20 pages each. */
    private static void big(Rest coordinator) {
        coordinator
                .sendJson(
                        "PUT",
                        "/api/v1/nodes/big",
                        REGISTRATION.formatted(7, 77).replace("1048576", Long.toString(1L << 36)))
                .expect(200);
        for (int space = 0; space < 12; space++) {
            coordinator
                    .sendJson(
                            "POST",
                            "/api/v1/spaces",
                            "{\"name\":\"big-%d\",\"sizeBytes\":%d,\"homes\":[\"big\"]}".formatted(space, 1L << 32))
                    .expect(201);
        }
    }

    @Test
    @Tag("soak")
    void shouldBoundEndpointsAndStartAgainWithWhatItHasStored() throws Exception {
        try (Cluster cluster = Cluster.startProcess(LONG_LEASES)) {
            Rest coordinator = cluster.coordinator().rest();
            register(coordinator, "a", 1);
            String tooMany = endpoint(4096);
            String most = endpoint(144);
            int taken = 0;
            int refused = 0;
            for (int peer = 0; peer < 523; peer++) {
                register(coordinator, "p" + peer, 2);
                String path = "/api/v1/nodes/a/endpoints/p" + peer;
                assertEquals(413, coordinator.sendJson("PUT", path, tooMany).status(), "4096 entries");
                Answer answer = coordinator.sendJson("PUT", path, most);
                if (answer.status() == 200) {
                    taken++;
                } else {
                    assertEquals(507, answer.status(), answer::toString);
                    assertTrue(answer.problem().detail().matches(".*\\d+.*\\d+.*"), answer::toString);
                    refused++;
                }
            }
            assertTrue(taken >= 50 && refused > 0, taken + " taken, " + refused + " refused");
            cluster.coordinatorProcess().process().kill();
            cluster.coordinatorProcess().restart();
            // Nodes are stored. Endpoints are not: agents publish them again.
            Rest restarted = cluster.coordinator().rest();
            restarted.get("/api/v1/nodes/p522").expect(200);
            restarted.get("/api/v1/nodes/a/endpoints/p0").expect(404);
            restarted.sendJson("PUT", "/api/v1/nodes/a/endpoints/p0", most).expect(200);
        }
    }

    @Test
    void shouldReadAPageOnlyForASpaceThatIsThereAndOnlyOfItsLength() throws Exception {
        try (Cluster cluster = Cluster.start()) {
            cluster.launchAgent("a", Map.of());
            cluster.openAgent("b", Map.of());
            cluster.awaitAllLinks();
            cluster.makeSpace("there", 4, 4096, "b");
            Rest agent = cluster.agent("a").rest();
            List<Socket> unfinished = new ArrayList<>();
            try {
                for (int i = 0; i < 64; i++) {
                    String space = i % 2 == 0 ? "none" : "there";
                    unfinished.add(
                            sendAllButTheLastByte(agent, "PUT", "/api/v1/spaces/" + space + "/pages/0", 2 * MIB));
                }
                agent.get("/health").expect(200);
                cluster.agent("a").putPage("there", 1, new byte[4096]).expect(204);
                assertEquals(
                        400,
                        cluster.agent("a").putPage("there", 1, new byte[4097]).status());
                assertEquals(
                        404,
                        cluster.agent("a").putPage("none", 1, new byte[4096]).status());
            } finally {
                for (Socket socket : unfinished) {
                    socket.close();
                }
            }
            assertTrue(cluster.process("a").process().isAlive(), cluster::describe);
            assertFalse(cluster.process("a").process().err().contains("failed unexpectedly"), cluster::describe);
        }
    }

    private static Socket sendAllButTheLastByte(Rest rest, String method, String path, int length) throws IOException {
        Socket socket = new Socket(rest.base().getHost(), rest.base().getPort());
        OutputStream out = socket.getOutputStream();
        out.write("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                .formatted(method, path, length)
                .getBytes(US_ASCII));
        byte[] part = new byte[1 << 16];
        try {
            for (int sent = 0; sent < length - 1; sent += part.length) {
                out.write(part, 0, Math.min(part.length, length - 1 - sent));
            }
        } catch (IOException e) {
            // Refused before all was sent.
        }
        return socket;
    }

    private static void register(Rest coordinator, String node, int incarnation) {
        coordinator
                .sendJson("PUT", "/api/v1/nodes/" + node, REGISTRATION.formatted(incarnation, incarnation))
                .expect(200);
    }

    private static void space(Rest coordinator, String name) {
        coordinator
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"%s\",\"sizeBytes\":%d}".formatted(name, MIB))
                .expect(201);
    }

    private static String heat(int first, int count) {
        StringBuilder json = new StringBuilder("{\"ranges\":[");
        for (int i = 0; i < count; i++) {
            json.append(i == 0 ? "" : ",")
                    .append("{\"firstPage\":")
                    .append(first + 2L * i)
                    .append(",\"count\":1,\"heat\":1}");
        }
        return json.append("]}").toString();
    }

    private static String endpoint(int entries) {
        StringBuilder json = new StringBuilder(
                "{\"incarnation\":\"%016x\",\"peerIncarnation\":\"%016x\",\"entries\":[".formatted(1, 2));
        for (int i = 0; i < entries; i++) {
            json.append(i == 0 ? "" : ",")
                    .append(("{\"transport\":\"tcp\",\"shard\":%d,\"rail\":%d,\"qpn\":%d,"
                                    + "\"lid\":1,\"psn\":1,\"mtu\":4096,")
                            .formatted(i / 64, i % 64, i))
                    .append("\"host\":\"127.0.0.1\",\"port\":1}");
        }
        return json.append("]}").toString();
    }
}
