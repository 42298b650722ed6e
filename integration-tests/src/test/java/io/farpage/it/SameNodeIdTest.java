package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Node;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("portable")
@Tag("processes")
class SameNodeIdTest {
    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeEach
    void start() {
        cluster = Cluster.ofProcesses(Map.of(), "a");
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    @Test
    void shouldLetALaterAgentOnTheSameHostTakeOverAndEndTheEarlierOne() throws Exception {
        AgentProcess first = cluster.process("a");
        cluster.awaitActive("a", "");
        String before = cluster.incarnation("a");
        AgentProcess second = cluster.startAgent("a", Map.of());
        cluster.awaitActive("a", before);

        assertEquals(3, first.process().awaitEnd());
        List<String> said = first.process()
                .err()
                .lines()
                .filter(line -> line.startsWith("page-agent: "))
                .toList();
        assertEquals(1, said.size(), first.process().err());
        assertTrue(said.getFirst().contains("another agent has registered as a"), said.getFirst());

        assertTrue(second.process().isAlive());
        assertNotEquals(before, cluster.incarnation("a"));
        cluster.makeSpace("mine", 1, 4096, "a");
        second.page("mine", 0).expect(200);
    }

    @Test
    @Tag("soak")
    void shouldRefuseAnAgentOfTheSameIdOnAnotherHostAndSaySoOnce() throws Exception {
        AgentProcess first = cluster.process("a");
        cluster.awaitActive("a", "");
        Node before = cluster.client().node("a").orElseThrow();
        AgentProcess second = cluster.startAgent("a", Map.of("api.advertise", "192.0.2.7"));
        await("the refusal", Deadlines.LONG).until(() -> second.process().err().contains("held by"));

        assertEquals(
                "false",
                second.rest()
                        .get("/health")
                        .expect(200)
                        .json()
                        .get("details")
                        .get("registered")
                        .asString());
        // Several tries later: still one line.
        await("one refusal in the log, and no other", Deadlines.LONG)
                .during(java.time.Duration.ofSeconds(2))
                .until(() -> refusals(second) == 1);
        assertTrue(first.process().isAlive());
        assertEquals(
                before.incarnation(), cluster.client().node("a").orElseThrow().incarnation());

        first.process().terminate();
        assertEquals(0, first.process().awaitEnd());
        cluster.awaitActive("a", before.incarnation().toString());
        assertEquals(1, refusals(second), second.process().err());
    }

    private static long refusals(AgentProcess agent) {
        return agent.process()
                .err()
                .lines()
                .filter(line -> line.contains("held by"))
                .count();
    }
}
