package io.farpage.agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.client.AgentAddress;
import io.farpage.agent.client.AgentClient;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.config.Config;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Health;
import io.farpage.rest.Json;
import io.farpage.tls.ClientOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole agent in this process, asked over its Unix socket. Its coordinator is away. */
@Tag("portable")
class AgentHealthTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private final CountDownLatch release = new CountDownLatch(1);

    @SuppressWarnings("NullAway.Init") // before each test
    private PageAgent agent;

    @BeforeEach
    void start() throws Exception {
        Config config = AgentKeys.SCHEMA.load(
                Optional.empty(),
                Map.of(),
                Map.of(
                        "node.id", "a",
                        "api.socket", directory.resolve("a.sock").toString(),
                        "coordinator.url", "http://127.0.0.1:1",
                        "transport.mode", "tcp",
                        "pool.exported", "2MiB",
                        "pool.staging", "4MiB",
                        "pool.hugepages", "off",
                        "shard.count", "2",
                        "shard.idle", "block"));
        agent = PageAgent.open(config, Providers.of(config), reason -> {});
    }

    @AfterEach
    void end() {
        release.countDown();
        agent.close();
    }

    private record Told(int status, Health health) {
        Health.Part part(String name) {
            return health.parts().stream()
                    .filter(part -> part.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(health.toString()));
        }
    }

    private Told ask() throws IOException, InterruptedException {
        try (AgentClient client =
                        AgentClient.open(new AgentAddress.Unix(agent.socket()), new ClientOptions(), TIMEOUT);
                AgentClient.Answer answer =
                        client.send("GET", "/health", Map.of("Content-Type", "text/plain"), AgentClient.Bytes.NONE)) {
            return new Told(
                    answer.status(), Json.LENIENT.readValue(answer.body().readAllBytes(), Health.class));
        }
    }

    private void awaitParts() {
        Deadlines.await("health reports shards", TIMEOUT)
                .until(() -> ask().health().parts().stream()
                        .anyMatch(part -> part.name().equals("shards")));
    }

    @Test
    void shouldStayHealthyAndReportSinceWhenTheCoordinatorIsAway() throws Exception {
        awaitParts();
        Told first = ask();
        assertEquals(200, first.status());
        assertEquals("degraded", first.part("coordinator").state(), first.toString());
        assertEquals("2 of 2 answer", first.part("shards").detail());
        assertEquals(Optional.empty(), agent.stalled(), "without a coordinator the watchdog is fed");
        Optional<String> since = first.part("coordinator").since();
        assertTrue(since.isPresent());
        Deadlines.pass(Duration.ofMillis(1500));
        assertEquals(since, ask().part("coordinator").since(), "the moment does not move");
    }

    @Test
    void shouldBeUnhealthyWhileAShardIsStuckAndSayWhereAndSinceWhen() throws Exception {
        awaitParts();
        Instant before = Instant.now();
        agent.shards().get(1).submit(new ShardCommand.Run(this::blockUntilReleased));
        Deadlines.await("the shard is found stuck", TIMEOUT).until(() -> ask().status() == 503);
        Told stuck = ask();
        assertEquals("failed", stuck.part("shards").state());
        String detail = stuck.part("shards").detail();
        assertTrue(detail.startsWith("shard-1 has not answered since "), detail);
        assertTrue(detail.contains("blockUntilReleased"), detail);
        Instant since = Instant.parse(stuck.part("shards").since().orElseThrow());
        assertTrue(since.isAfter(before.minusMillis(1)), () -> since + " is before " + before);
        String stalled = agent.stalled().orElseThrow();
        assertTrue(stalled.startsWith("shards: shard-1 has not answered since "), stalled);
        release.countDown();
        Deadlines.await("the shard answers again", TIMEOUT).until(() -> ask().status() == 200);
        assertEquals(Optional.empty(), agent.stalled());
    }

    private void blockUntilReleased() {
        try {
            release.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
