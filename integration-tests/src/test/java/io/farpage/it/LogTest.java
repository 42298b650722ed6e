package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Rest;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The log of a service in JSON, and its level, which changes while the service runs. */
@Tag("portable")
@Tag("processes")
class LogTest {
    /** Registers a node that sends no heartbeat, and waits until its lease has run out. The coordinator logs a WARN. */
    private static void lose(Rest coordinator, String node, int incarnation) {
        coordinator
                .sendJson("PUT", "/api/v1/nodes/" + node, """
                        {"incarnation":"%016x","hostname":"h","address":"127.0.0.1:%d","cpus":1,"memoryBytes":1,\
                        "devices":[],"pool":{"exportedBytes":1048576,"pageSize":4096},"transports":["tcp"],\
                        "status":"active"}""".formatted(incarnation, incarnation))
                .expect(200);
        await("the end of the lease", Deadlines.SHORT)
                .until(() -> !coordinator
                        .get("/api/v1/nodes/" + node)
                        .expect(200)
                        .json()
                        .get("status")
                        .asString()
                        .equals("active"));
    }

    @Test
    void shouldLogObjectsFromTheLevelOnThatWasSetLast() {
        try (Cluster cluster = Cluster.startProcess(
                Map.of("log.format", "json", "lease.duration", "1s", "lease.heartbeat_interval", "300ms"))) {
            Rest coordinator = cluster.coordinator().rest();
            assertEquals(
                    "info",
                    coordinator.get("/log").expect(200).json().get("level").asString());
            lose(coordinator, "told", 1);
            await("an entry", Deadlines.SHORT).until(() -> log(cluster).contains("node told: "));
            coordinator.sendJson("PUT", "/log", "{\"level\":\"error\"}").expect(200);
            lose(coordinator, "hushed", 2);
            // A warning that comes after the node's status has changed, comes before the next node is lost.
            lose(coordinator, "next", 4);
            coordinator.sendJson("PUT", "/log", "{\"level\":\"info\"}").expect(200);
            lose(coordinator, "heard", 3);
            await("an entry", Deadlines.SHORT).until(() -> log(cluster).contains("node heard: "));
            assertFalse(log(cluster).contains("hushed"), () -> log(cluster));
            assertEquals(
                    400,
                    coordinator.sendJson("PUT", "/log", "{\"level\":\"loud\"}").status());
            List<String> lines =
                    log(cluster).lines().filter(line -> !line.isEmpty()).toList();
            for (String line : lines) {
                JsonNode entry = JsonMapper.shared().readTree(line);
                assertTrue(
                        entry.get("timestamp").isNumber()
                                && entry.get("formattedMessage").isString(),
                        line);
                assertTrue(List.of("INFO", "WARN").contains(entry.get("level").asString()), line);
            }
        }
    }

    private static String log(Cluster cluster) {
        return cluster.coordinatorProcess().process().err();
    }
}
