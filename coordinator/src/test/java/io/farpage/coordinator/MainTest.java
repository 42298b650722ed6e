package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.command.Commands;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.server.Running;
import io.farpage.it.deadlines.Deadlines;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program as a process of its own. */
@Tag("portable")
@Tag("processes")
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
        assertEquals(code, Deadlines.exit("the program", Deadlines.LONG, process), out);
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
            assertEquals(0, Deadlines.exit("the program", Deadlines.LONG, process));
        }
    }

    @Test
    void shouldHaveEveryAnsweredChangeAfterKills() throws Exception {
        int spaces = 0;
        for (int round = 0; round < 2; round++) {
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
        try (Running last = Running.on(directory.resolve("data"))) {
            assertEquals(spaces, last.client.spaces().size());
        }
    }

    @Test
    void shouldRefuseAPortThatIsTakenAndAStoreInUseWithOneLineEach() throws Exception {
        Process first = run();
        try (BufferedReader out = first.inputReader(StandardCharsets.UTF_8)) {
            URI url = ready(out);
            String taken = "127.0.0.1:" + url.getPort();
            assertEquals(
                    new Commands.Outcome(
                            1,
                            "",
                            "coordinator: cannot listen on " + taken
                                    + ": the port is taken; stop what listens there or choose another port\n"),
                    Commands.run("-D", "server.listen=" + taken, "-D", "store.directory=" + directory.resolve("more")));
            Commands.Outcome second = Commands.run(
                    "-D", "server.listen=127.0.0.1:0", "-D", "store.directory=" + directory.resolve("data"));
            assertEquals(1, second.code());
            assertTrue(
                    second.err().startsWith("coordinator: store file ")
                            && second.err().contains("in use by another process"),
                    second.err());
            assertEquals(1, second.err().lines().count());
        }
    }

    @Test
    void shouldReportEveryFaultOfTheConfigurationOnALineOfItsOwn() {
        Commands.Outcome faults =
                Commands.run("-D", "server.listen=here", "-D", "lease.duratoin=5s", "-D", "events.retained=0");
        assertEquals(1, faults.code());
        assertEquals(3, faults.err().lines().count(), faults.err());
        assertTrue(faults.err().contains("did you mean lease.duration?"), faults.err());
        Commands.Outcome pair = Commands.run("-D", "lease.duration=5s");
        assertEquals(1, pair.code());
        assertTrue(pair.err().contains("at most half of lease.duration, which is 5s"), pair.err());
        assertEquals(2, Commands.run("--no-such-option").code());
    }

    @Test
    void shouldPrintItsVersionAndItsConfigurationReference() throws Exception {
        String version = outcome(0, start("--version"));
        assertTrue(version.matches("coordinator \\d+\\.\\d+.*"), version);
        assertFalse(version.contains("$"), version);
        Commands.Outcome reference = Commands.run("config-reference");
        assertEquals(0, reference.code());
        assertTrue(reference.out().contains("`FARPAGE_LEASE_DURATION`"), reference.out());
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
