package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.server.Coordinator;
import io.farpage.rest.Json;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;

/** The command as a user runs it, against the machine that the tests run on. */
@ResourceLock(Resources.SYSTEM_OUT)
final class DoctorCommandTest {
    @TempDir
    private Path directory = Path.of("");

    private record Run(int exitCode, String out, String err) {
        JsonNode json() {
            return Json.STRICT.readTree(out);
        }

        JsonNode line(String subject) {
            for (JsonNode line : json().get("lines")) {
                if (line.get("subject").asString().equals(subject)) {
                    return line;
                }
            }
            throw new AssertionError("no line of " + subject + " in " + out);
        }
    }

    /** A port that is free now, so that an agent that runs on this machine does not matter. */
    private static Run doctor(String... more) {
        List<String> arguments = new ArrayList<>(List.of("--set", "api.listen=127.0.0.1:0"));
        arguments.addAll(List.of(more));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = new CommandLine(new DoctorCommand())
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(arguments.toArray(String[]::new));
        return new Run(exitCode, out.toString(), err.toString());
    }

    @Test
    void shouldExitWithZeroAsLongAsNothingNeededIsMissing() {
        Run run = doctor("--set", "pool.exported=2MiB", "--set", "pool.staging=2MiB");

        assertEquals(0, run.exitCode(), run.out());
        assertTrue(run.out().contains(" 0 fail"), run.out());
        assertFalse(run.out().contains("\u001b"), "no colours without a terminal");
    }

    @Test
    void shouldExitWithOneWhenRdmaIsRequiredAndCannotWork() {
        Run run =
                doctor("--json", "--set", "transport.mode=rdma", "--set", "rdma.library=/nonexistent/libibverbs.so.1");

        assertEquals(1, run.exitCode());
        JsonNode verbs = run.line("libibverbs");
        assertEquals("fail", verbs.get("level").asString());
        assertTrue(verbs.get("detail").asString().startsWith("NO_LIBRARY: "), verbs.toString());
        assertTrue(verbs.get("fix").asString().startsWith("apt-get install"), verbs.toString());
    }

    @Test
    void shouldExitWithTwoAndPrintNoReportWhenTheConfigurationIsWrong() {
        Run run = doctor("--json", "--set", "pool.exported=lots");

        assertEquals(2, run.exitCode());
        assertEquals("", run.out());
        assertTrue(run.err().contains("pool.exported: 'lots'"), run.err());
    }

    @Test
    void shouldCountItsLinesInJson() {
        JsonNode report = doctor("--json").json();

        long lines = report.get("lines").size();
        assertEquals(
                lines,
                report.get("ok").asLong()
                        + report.get("warn").asLong()
                        + report.get("fail").asLong());
        for (JsonNode line : report.get("lines")) {
            boolean right = line.get("level").asString().equals("ok");
            assertEquals(right, line.get("fix").asString().isEmpty(), line.toString());
            assertFalse(line.get("detail").asString().contains("\n"), line.toString());
        }
    }

    @Test
    void shouldOpenAUserfaultfdForReal() {
        assumeTrue(Files.isWritable(Path.of("/dev/userfaultfd")), "this user may not open a userfaultfd");

        JsonNode line = doctor("--json").line("userfaultfd");

        String detail = line.get("detail").asString();
        assertTrue(detail.startsWith("can be opened, features 0x"), detail);
        // MISSING_SHMEM came with Linux 4.11: a kernel with /dev/userfaultfd (6.1) has it.
        long features = Long.parseLong(detail.replaceAll(".*0x([0-9a-f]+).*", "$1"), 16);
        assertEquals(1, features >>> 5 & 1, detail);
    }

    @Test
    void shouldSeeKvmForReal() {
        boolean usable = Files.isReadable(Path.of("/dev/kvm")) && Files.isWritable(Path.of("/dev/kvm"));

        JsonNode line = doctor("--json").line("kvm");

        assertEquals(usable ? "ok" : "warn", line.get("level").asString(), line.toString());
    }

    @Test
    void shouldReadAnotherMachinesTree() throws Exception {
        Path port = directory.resolve("sys/class/infiniband/mlx5_9/ports/1");
        Files.createDirectories(port);
        Files.writeString(port.resolve("state"), "1: DOWN\n");
        Files.writeString(port.resolve("phys_state"), "2: Polling\n");
        Files.writeString(port.resolve("link_layer"), "InfiniBand\n");

        JsonNode line = doctor("--json", "--root", directory.toString()).line("port mlx5_9/1");

        assertEquals("warn", line.get("level").asString());
        assertEquals("ibstat mlx5_9 1", line.get("fix").asString());
    }

    @Test
    void shouldFailForAPortThatIsTaken() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(taken.getLocalPort());

            Run run = doctor("--json", "--set", "tcp.port=" + port);

            assertEquals(1, run.exitCode());
            JsonNode line = run.line("listen tcp.port");
            assertEquals("fail", line.get("level").asString());
            assertTrue(line.get("detail").asString().startsWith("127.0.0.1:" + port + " cannot"), line.toString());
        }
    }

    @Test
    void shouldReachACoordinator() {
        Map<String, String> settings = Map.of("server.listen", "127.0.0.1:0", "store.directory", directory.toString());
        try (Coordinator coordinator =
                Coordinator.start(Settings.SCHEMA.load(Optional.empty(), Map.of(), settings), Time.system())) {
            JsonNode line = doctor("--json", "--set", "coordinator.url=" + coordinator.url())
                    .line("coordinator");

            assertEquals("ok", line.get("level").asString());
            assertEquals(
                    coordinator.url() + " answers: no cluster formed yet",
                    line.get("detail").asString());
        }
    }

    @Test
    void shouldFailWhenAConfiguredCoordinatorDoesNotAnswerInTime() throws Exception {
        // Takes connections and says nothing.
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Run run = doctor("--json", "--set", "coordinator.url=http://127.0.0.1:" + silent.getLocalPort());

            JsonNode line = run.line("coordinator");
            assertEquals(1, run.exitCode());
            assertEquals("fail", line.get("level").asString());
            assertTrue(line.get("detail").asString().contains("no answer within 2000 ms"), line.toString());
        }
    }
}
