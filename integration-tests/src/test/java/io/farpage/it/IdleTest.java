package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.ProcFs;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("soak")
class IdleTest {
    private static final int WINDOWS = 4;
    private static final Duration WINDOW = Duration.ofSeconds(10);
    private static final double ALLOWED = 0.02;

    @SuppressWarnings("NullAway.Init") // set by the test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @AfterEach
    void end() {
        cluster.close();
    }

    /** Linked with each other, with heartbeats, long polls and all, but without a page to move. */
    @Test
    void shouldUseNextToNoCpuWhileNothingIsToBeDoneAndThreadsMaySleep() {
        cluster = Cluster.start(Map.of());
        List<String> strategies = List.of("block", "adaptive");
        strategies.forEach(idle -> cluster.launchAgent(idle, Map.of("shard.idle", idle)));
        cluster.awaitAllLinks();

        Map<String, Double> used = measure(WINDOW);
        // The first windows may still have what a start leaves behind, such as the compiler's work.
        for (int i = 1; i < WINDOWS && used.values().stream().anyMatch(share -> share > ALLOWED); i++) {
            used = measure(WINDOW);
        }
        System.out.println("share of a CPU used while idle: " + used);
        for (String idle : strategies) {
            assertTrue(used.getOrDefault(idle, 1.0) < ALLOWED, idle + ": " + used);
        }
    }

    private Map<String, Double> measure(Duration window) {
        Map<String, Double> before = cpuSeconds();
        long began = System.nanoTime();
        await("time passes", window.plus(Deadlines.LONG)).pollDelay(window).until(() -> true);
        double seconds = (System.nanoTime() - began) / 1e9;
        Map<String, Double> shares = new LinkedHashMap<>();
        cpuSeconds().forEach((node, used) -> shares.put(node, (used - before.getOrDefault(node, 0.0)) / seconds));
        return shares;
    }

    private Map<String, Double> cpuSeconds() {
        Map<String, Double> seconds = new LinkedHashMap<>();
        cluster.processes()
                .forEach(agent -> seconds.put(
                        agent.node(), ProcFs.cpuSeconds(agent.process().pid())));
        return seconds;
    }
}
