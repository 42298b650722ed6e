package io.farpage.bench.agents;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.fetch.BenchProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
@Tag("processes")
final class ClusterCommandTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(4);

    @TempDir
    private Path directory;

    private String run(String... options) throws Exception {
        try (BenchProcess bench = BenchProcess.start(directory, "cluster", List.of(options))) {
            int code = bench.exitCode(TIMEOUT);
            String output = Files.readString(directory.resolve("output"));
            assertEquals(0, code, output + Files.readString(directory.resolve("errors")));
            return output;
        }
    }

    /** Over real processes: all join, each failure is known to each agent, and no request fails. */
    @Test
    @Tag("soak")
    @Tag("long")
    void shouldHaveFiftyAgentsJoinChangeLinkAndFail() throws Exception {
        String output = run(
                "--agents",
                "50",
                "--steady",
                "2s",
                "--attachments",
                "5",
                "--changes",
                "5",
                "--failures",
                "2",
                "--lease",
                "6s");
        assertTrue(output.contains("50 agents, links demand"), output);
        assertTrue(output.contains("attach until the links to the homes are agreed on: p50"), output);
        assertTrue(
                output.lines().anyMatch(line -> line.startsWith("failure known") && line.endsWith("of 100")), output);
        assertTrue(!output.contains("failures told: only"), output);
    }

    @Test
    void shouldSimulateAndDrawClustersOfSeveralSizes() throws Exception {
        Path chart = directory.resolve("chart.svg");
        String output = run("--simulate", "--agents", "10,40", "--events", "3", "--chart", chart.toString());
        assertTrue(output.startsWith("links,agents,event,requests,bytes,cpu_us"), output);
        assertTrue(output.contains("\ndemand,40,failure,"), output);
        assertTrue(Files.readString(chart).contains("requests per event"));
    }
}
