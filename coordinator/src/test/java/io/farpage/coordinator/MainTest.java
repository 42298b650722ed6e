package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.SpaceRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program as a process of its own. */
@Tag("portable")
class MainTest {

    private final Path directory;
    private final List<Process> started = new ArrayList<>();

    MainTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @AfterEach
    void killAll() throws InterruptedException {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    private Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("FARPAGE_"));
        Process process = builder.start();
        started.add(process);
        return process;
    }

    private Process run() throws IOException {
        return start(
                "-D",
                "server.listen=127.0.0.1:0",
                "-D",
                "store.directory=" + directory.resolve("data"),
                "--port-file",
                directory.resolve("port").toString());
    }

    private static String outcome(int code, Process process) throws Exception {
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(code, process.exitValue(), out);
        return out;
    }

    private static URI ready(BufferedReader out) throws IOException {
        String line = String.valueOf(out.readLine());
        String prefix = "coordinator listening on ";
        assertTrue(line.startsWith(prefix + "http://127.0.0.1:"), line);
        return URI.create(line.substring(prefix.length()));
    }

    @Test
    void shouldSayWhereItListensAndEndCleanlyOnSigterm() throws Exception {
        Process process = run();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            URI url = ready(out);
            assertEquals(
                    Integer.toString(url.getPort()),
                    Files.readString(directory.resolve("port")).strip());
            assertTrue(process.toHandle().destroy());
            out.lines().forEach(line -> assertTrue(line.contains(" INFO "), line));
            assertTrue(process.waitFor(30, TimeUnit.SECONDS));
            assertEquals(0, process.exitValue());
        }
    }

    @Test
    void shouldHaveEveryAnsweredChangeAfterKills() throws Exception {
        int spaces = 0;
        for (int round = 0; round < 3; round++) {
            Process process = run();
            try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
                    CoordinatorClient client = new CoordinatorClient(ready(out), Duration.ofSeconds(30))) {
                client.register("a", Fixture.node(1, 1 << 20));
                assertEquals(spaces, client.spaces().size());
                for (int i = 0; i < 20; i++) {
                    client.createSpace(SpaceRequest.of("s" + spaces, 4096));
                    spaces++;
                }
            } finally {
                process.destroyForcibly().waitFor();
            }
        }
    }

    @Test
    void shouldRefuseAPortThatIsTakenAndAStoreInUseWithOneLineEach() throws Exception {
        Process first = run();
        try (BufferedReader out = first.inputReader(StandardCharsets.UTF_8)) {
            URI url = ready(out);
            String taken = "127.0.0.1:" + url.getPort();
            assertEquals(
                    "coordinator: cannot listen on " + taken
                            + ": the port is taken; stop what listens there or choose another port",
                    outcome(
                            1,
                            start(
                                    "-D",
                                    "server.listen=" + taken,
                                    "-D",
                                    "store.directory=" + directory.resolve("more"))));
            String second = outcome(1, run());
            assertTrue(
                    second.startsWith("coordinator: store file ") && second.contains("in use by another process"),
                    second);
            assertEquals(1, second.lines().count());
        }
    }

    @Test
    void shouldReportEveryFaultOfTheConfigurationOnALineOfItsOwn() throws Exception {
        String out =
                outcome(1, start("-D", "server.listen=here", "-D", "lease.duratoin=5s", "-D", "events.retained=0"));
        assertEquals(3, out.lines().count(), out);
        assertTrue(out.contains("did you mean lease.duration?"), out);
        String pair = outcome(1, start("-D", "lease.duration=5s"));
        assertTrue(pair.contains("at most half of lease.duration, which is 5s"), pair);
        assertEquals(2, outcomeCode(start("--no-such-option")));
    }

    private static int outcomeCode(Process process) throws Exception {
        process.getInputStream().readAllBytes();
        return process.waitFor();
    }

    @Test
    void shouldPrintItsVersionAndItsConfigurationReference() throws Exception {
        String version = outcome(0, start("--version"));
        assertTrue(version.matches("coordinator \\d+\\.\\d+.*"), version);
        assertFalse(version.contains("$"), version);
        String reference = outcome(0, start("config-reference"));
        assertTrue(reference.contains("`FARPAGE_LEASE_DURATION`"), reference);
    }

    @Test
    @Tag("soak")
    void shouldFormAClusterFromAnInventory() throws Exception {
        Process process = run();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            URI url = ready(out);
            Path inventory = directory.resolve("inventory.yaml");
            Files.writeString(inventory, "cluster: lab\nnodes:\n  - id: a\n    address: 127.0.0.1:7410\n  - id: b\n");
            try (CoordinatorClient client = new CoordinatorClient(url, Duration.ofSeconds(30))) {
                client.register("a", Fixture.node(1, 0));
            }
            String up = outcome(0, start("up", inventory.toString(), "--coordinator", url.toString()));
            assertTrue(up.startsWith("cluster lab formed: 1 of 2 nodes registered"), up);
            assertTrue(up.contains("active") && up.contains("expected"), up);
            String waited =
                    outcome(1, start("up", inventory.toString(), "--coordinator", url.toString(), "--wait", "100ms"));
            assertTrue(waited.contains("1 of 2"), waited);
            Files.writeString(
                    inventory, "cluster: LAB\nnode: x\nnodes:\n  - id: A\n  - address: h\n  - id: c\n    address: h\n");
            String faults = outcome(1, start("up", inventory.toString(), "--coordinator", url.toString()));
            assertTrue(faults.lines().count() == 5, faults);
            Files.writeString(inventory, "cluster: lab\nnodes: [{id: a}]\n");
            String away = outcome(1, start("up", inventory.toString(), "--coordinator", "http://127.0.0.1:1"));
            assertTrue(away.contains("is the coordinator running?"), away);
            assertEquals(1, away.lines().count(), away);
        }
    }
}
