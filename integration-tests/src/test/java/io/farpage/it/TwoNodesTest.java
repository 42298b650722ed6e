package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(TwoNodes.class)
class TwoNodesTest {

    @ParameterizedTest
    @CsvSource({"4096, 512, 1", "2097152, 2, 2"})
    void shouldReadBackEveryByteThroughBothNodesWhateverTheHome(int pageSize, int pages, long seed, Cluster cluster)
            throws Exception {
        for (String home : List.of("a", "b")) {
            String space = "bytes-" + home + "-" + pageSize;
            cluster.makeSpace(space, pages, pageSize, home);
            try {
                for (String writer : List.of("a", "b")) {
                    long content = seed + writer.hashCode();
                    LongStream.range(0, pages)
                            .parallel()
                            .forEach(page -> cluster.agent(writer)
                                    .putPage(space, page, Pages.of(content, page, pageSize))
                                    .expect(204));
                    for (Agent reader : cluster.agents()) {
                        LongStream.range(0, pages)
                                .parallel()
                                .forEach(page -> Pages.check(
                                        reader.page(space, page).expect(200).body(), content, page, pageSize));
                    }
                }
            } finally {
                cluster.client().deleteSpace(space);
            }
        }
    }

    @Test
    void shouldReadZerosFromPagesNeverWrittenAndFromDeletedOnes(Cluster cluster) throws Exception {
        cluster.makeSpace("zeros", 4, 4096, "b");
        try {
            Agent a = cluster.agent("a");
            assertArrayEquals(new byte[4096], a.page("zeros", 3).expect(200).body());
            a.putPage("zeros", 3, Pages.of(3, 3, 4096)).expect(204);
            a.rest()
                    .send("DELETE", "/api/v1/spaces/zeros/pages/0x3", "", new byte[0])
                    .expect(204);
            assertArrayEquals(new byte[4096], a.page("zeros", 3).expect(200).body());
        } finally {
            cluster.client().deleteSpace("zeros");
        }
    }

    @Test
    void shouldRunAgentsOfTestsWithoutARealTimePriority(Cluster cluster) {
        assertEquals(2, cluster.agents().size());
        assertEquals(List.of(), ProcFs.realTimeThreads(ProcessHandle.current().pid()));
    }

    @Test
    void shouldSayWhichTransportIsUsedAndWhy(Cluster cluster) {
        var status = cluster.agent("a")
                .rest()
                .get("/api/v1/transport/status")
                .expect(200)
                .json();
        assertEquals("auto", status.get("mode").asString());
        assertTrue(List.of("tcp", "rdma").contains(status.get("preferred").asString()));
        assertTrue(status.get("reason").asString().startsWith("transport: "));
        assertEquals("up", status.get("links").get(0).get("state").asString());
    }

    @Test
    void shouldCountFetchesInMetrics(Cluster cluster) throws Exception {
        cluster.makeSpace("metrics", 1, 4096, "b");
        try {
            cluster.agent("a").page("metrics", 0).expect(200);
            String metrics =
                    cluster.agent("a").rest().get("/metrics").expect(200).text();
            assertTrue(metrics.contains("farpage_agent_fetch_seconds_bucket{source=\"page-tool\",le="), metrics);
        } finally {
            cluster.client().deleteSpace("metrics");
        }
    }

    @Test
    void shouldPutGetAndDeletePagesFromTheCommandLine(Cluster cluster, @TempDir Path directory) throws Exception {
        cluster.makeSpace("cli", 2, 4096, "b");
        try {
            byte[] page = Pages.of(7, 1, 4096);
            Path in = Files.write(directory.resolve("in"), page);
            Path out = directory.resolve("out");
            assertEquals(0, pageAgent(cluster, "put", "1", "--in", in.toString()));
            assertEquals(0, pageAgent(cluster, "get", "1", "--out", out.toString()));
            assertArrayEquals(page, Files.readAllBytes(out));
            assertEquals(0, pageAgent(cluster, "delete", "1"));
            assertArrayEquals(
                    new byte[4096],
                    cluster.agent("b").page("cli", 1).expect(200).body());
            assertEquals(1, pageAgent(cluster, "get", "2"));
        } finally {
            cluster.client().deleteSpace("cli");
        }
    }

    private static int pageAgent(Cluster cluster, String what, String page, String... more) {
        List<String> arguments = new java.util.ArrayList<>(List.of(
                "page",
                what,
                "--agent",
                cluster.agent("a").rest().base().toString(),
                "--space",
                "cli",
                "--page",
                page));
        arguments.addAll(List.of(more));
        Command tool = Command.agent(arguments);
        assertEquals(tool.code() == 0 ? 0 : 1, tool.err().lines().count(), tool.err());
        return tool.code();
    }

    @Test
    void shouldRefuseSpacesOnUnknownNodesAndOfOtherPageSizes(Cluster cluster) throws Exception {
        CoordinatorRefusedException unknown =
                assertThrows(CoordinatorRefusedException.class, () -> cluster.makeSpace("refused", 1, 4096, "absent"));
        assertEquals(422, unknown.problem().status());
        assertTrue(unknown.problem().detail().contains("'absent'"), unknown.getMessage());

        Answer wrongSize = cluster.coordinator()
                .rest()
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"refused\",\"sizeBytes\":8192,\"pageSize\":8192}")
                .expect(400);
        assertTrue(wrongSize.problem().detail().contains("8192"), wrongSize.toString());

        CoordinatorRefusedException tooLarge = assertThrows(
                CoordinatorRefusedException.class, () -> cluster.makeSpace("refused", 1 << 20, 4096, "a", "b"));
        assertEquals(507, tooLarge.problem().status());
        assertTrue(cluster.client().space("refused").isEmpty());
    }

    @Test
    void shouldZeroTheRoomOfADeletedSpaceBeforeAnotherGetsIt(Cluster cluster) throws Exception {
        int pages = 1024; // half the pool of b, so that every third space is on room that was used
        for (int round = 0; round < 4; round++) {
            String space = "room-" + round;
            await("room on b", Duration.ofSeconds(20)).ignoreExceptions().until(() -> {
                cluster.makeSpace(space, pages, 4096, "b");
                return true;
            });
            try {
                LongStream.range(0, pages).parallel().forEach(page -> {
                    byte[] found =
                            cluster.agent("a").page(space, page).expect(200).body();
                    assertArrayEquals(new byte[4096], found, () -> "page " + page + " of " + space);
                    cluster.agent("a")
                            .putPage(space, page, Pages.of(11, page, 4096))
                            .expect(204);
                });
            } finally {
                cluster.client().deleteSpace(space);
            }
        }
    }
}
