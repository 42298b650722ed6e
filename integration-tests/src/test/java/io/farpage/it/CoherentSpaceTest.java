package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Pictures;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.TwoNodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Unmodified processes on two nodes that share the memory of a coherent space; one of the nodes is the home, too. See
 * {@code src/test/c/coherent.c}.
 */
@ExtendWith(TwoNodes.class)
@NeedsUserfaultfd
class CoherentSpaceTest {
    private static final int LOCAL_PAGES = 64;
    private static final int PAGES = 256;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final List<String> NODES = List.of("a", "b");

    @TempDir
    private Path directory = Path.of("");

    @SuppressWarnings("NullAway.Init")
    private SharedRam program;

    private final List<ChildJvm> processes = new ArrayList<>();
    private final List<String> created = new ArrayList<>();

    @BeforeEach
    void compile() {
        program = SharedRam.compileCoherent(directory);
    }

    /** So that the next has room, whether this test has failed or not. */
    @AfterEach
    void end(Cluster cluster) {
        endProcesses();
        for (String space : created) {
            for (String node : NODES) {
                cluster.agent(node).rest().send("DELETE", "/api/v1/spaces/" + space + "/guest", "", new byte[0]);
            }
            cluster.coordinator().rest().send("DELETE", "/api/v1/spaces/" + space + "?force=true", "", new byte[0]);
        }
    }

    private void endProcesses() {
        processes.forEach(ChildJvm::close);
    }

    /** What a process has said, and what the agents say of their guests: why a membership has ended, for instance. */
    private static String describe(Cluster cluster, ChildJvm process) {
        StringBuilder text = new StringBuilder(process.out() + process.err());
        NODES.forEach(node -> text.append(node)
                .append(": ")
                .append(cluster.agent(node).rest().get("/api/v1/spaces").text())
                .append('\n'));
        return text.toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"table", "ring", "sum"})
    void shouldFindWhatTheOtherNodeHasStored(String what, Cluster cluster) {
        create(cluster, what);
        run(cluster, what, List.of(what, what.equals("sum") ? "2" : "300"));
        for (ChildJvm process : processes) {
            assertEquals(0, process.awaitEnd(), () -> describe(cluster, process));
        }
        for (String node : NODES) {
            JsonNode status = awaitEnded(cluster, node, what);
            assertTrue(status.get("peakResidentPages").asInt() <= LOCAL_PAGES, status.toString());
        }
        drop(cluster, what);
    }

    /** What x86-TSO forbids, as published; see the file. */
    @ParameterizedTest
    @CsvFileSource(resources = "x86-tso.csv", numLinesToSkip = 1)
    void shouldShowNoOutcomeThatX86Forbids(String test, boolean isAllowed, Cluster cluster) {
        create(cluster, "litmus");
        run(cluster, "litmus", List.of("litmus", test, "4"));
        for (ChildJvm process : processes) {
            assertEquals(0, process.awaitEnd(), () -> describe(cluster, process));
        }
        JsonNode result = new JsonMapper().readTree(processes.getFirst().out());
        assertEquals(4 * 512, result.get("runs").asInt());
        assertEquals(isAllowed, result.get("allowed").asBoolean(), "the program and the file say the same");
        assertTrue(isAllowed || result.get("seen").asInt() == 0, result.toString());
        NODES.forEach(node -> awaitEnded(cluster, node, "litmus"));
        drop(cluster, "litmus");
    }

    /** The vCPUs of two virtual machines on two nodes count all pages of one guest-physical memory under locks. */
    @Test
    @Tag("processes")
    void shouldBeTheMemoryOfVirtualCpusOnTwoNodes(Cluster cluster) {
        Path kvm = Path.of("/dev/kvm");
        assumeTrue(Files.isReadable(kvm) && Files.isWritable(kvm), "/dev/kvm cannot be opened by this user");
        create(cluster, "cpus");
        for (String node : NODES) {
            processes.add(guest(cluster, node, "--passes=count,count,count", "--vcpus=2"));
        }
        for (ChildJvm process : processes) {
            assertEquals(0, process.awaitEnd(), () -> describe(cluster, process));
        }
        NODES.forEach(node -> awaitEnded(cluster, node, "cpus"));
        awaitDetached(cluster, "cpus");
        ChildJvm judge = guest(cluster, "a", "--passes=counted", "--counted=" + 3 * 2 * NODES.size());
        processes.add(judge);
        assertEquals(0, judge.awaitEnd(), () -> describe(cluster, judge));
        awaitEnded(cluster, "a", "cpus");
        drop(cluster, "cpus");
    }

    private ChildJvm guest(Cluster cluster, String node, String... more) {
        Path socket = attach(cluster, node, "cpus");
        List<String> arguments = new ArrayList<>(List.of("guest-vm", "--socket=" + socket, "--memory=" + PAGES * 4096));
        arguments.addAll(List.of(more));
        return ChildJvm.start("guest-vm-" + node, Main.class, arguments);
    }

    @Test
    void shouldKeepTheMemoryWhenAllProcessesHaveEnded(Cluster cluster) {
        create(cluster, "kept");
        for (int i = 0; i < 2; i++) {
            run(cluster, "kept", List.of("table", "100"));
            for (ChildJvm process : processes) {
                process.awaitEnd();
            }
            JsonNode result = new JsonMapper().readTree(processes.getFirst().out());
            // The second time the counters begin with what they were.
            assertEquals(
                    (i + 1) * result.get("expected").asLong(),
                    result.get("found").asLong(),
                    () -> processes.getFirst().out());
            NODES.forEach(node -> awaitEnded(cluster, node, "kept"));
            awaitDetached(cluster, "kept");
            endProcesses();
            processes.clear();
        }
        drop(cluster, "kept");
    }

    @Test
    @Tag("soak")
    @Tag("processes")
    void shouldShowOnTheDashboardWhatMembersTake(Cluster cluster) throws IOException {
        try (Chromium browser = Chromium.start()) {
            create(cluster, "watched");
            run(cluster, "watched", List.of("table", "100000000"));
            browser.open(cluster.coordinator().rest().base().resolve("/"));
            String row = "[...document.querySelectorAll('#coherent-table tbody tr > *')].map(cell => cell.innerText)";
            browser.awaitTrue(row + "[3]?.match(/^[1-9].*s$/)", TIMEOUT);
            JsonNode cells = browser.evaluate(row);
            assertEquals("watched", cells.get(0).asString());
            assertEquals("a\nb", cells.get(1).asString());
            assertEquals("b", cells.get(2).asString());
            assertEquals("0", cells.get(7).asString(), "pages are lost");
            JsonNode pages = browser.evaluate(
                    "[...document.querySelectorAll('#bounce-table tbody tr')].map(row => row.innerText)");
            assertTrue(0 < pages.size() && pages.size() <= 8, pages.toString());
            for (JsonNode page : pages) {
                assertTrue(page.asString().matches("watched\\t\\d+\\t[\\d,]+\\t(a\\tb|b\\ta)"), pages.toString());
            }
            Pictures.take(browser, "coherent");
            assertEquals(List.of(), browser.complaints());
        }
        String parts = Command.agent(
                        "directories",
                        "--parts",
                        "--agent=" + cluster.agent("b").rest().base())
                .done()
                .out();
        List<String> lines =
                parts.lines().dropWhile(line -> !line.contains("FROM PAGE")).toList();
        assertEquals(1 + 16, lines.size(), parts);
        assertTrue(lines.get(1).matches(" +0 +15 +\\d+ +\\d+\\.\\d %"), parts);
        assertTrue(lines.getLast().startsWith("                240        255 "), parts);
    }

    private void create(Cluster cluster, String space) {
        created.add(space);
        cluster.coordinator()
                .rest()
                .sendJson(
                        "POST",
                        "/api/v1/spaces",
                        "{\"name\": \"%s\", \"sizeBytes\": %d, \"coherent\": true, \"homes\": [\"b\"]}"
                                .formatted(space, PAGES * 4096))
                .expect(201);
    }

    /** Starts a process on each node. */
    private void run(Cluster cluster, String space, List<String> words) {
        for (String node : NODES) {
            Path socket = attach(cluster, node, space);
            List<String> arguments = new ArrayList<>(List.of("" + PAGES, "" + NODES.indexOf(node), "" + NODES.size()));
            arguments.addAll(words);
            processes.add(ChildJvm.launch(
                    "coherent-" + node,
                    program.preloaded(arguments),
                    Map.of("FARPAGE_SOCKET", socket.toString(), "FARPAGE_MEMFD_NAME", "coherent"),
                    directory));
        }
    }

    private Path attach(Cluster cluster, String node, String space) {
        Path socket = directory.resolve("socket-" + node);
        cluster.agent(node)
                .rest()
                .sendJson(
                        "PUT",
                        "/api/v1/spaces/" + space + "/guest",
                        "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL_PAGES * 4096))
                .expect(200);
        return socket;
    }

    private static JsonNode awaitEnded(Cluster cluster, String node, String space) {
        return await("the guest's end", TIMEOUT)
                .until(
                        () -> cluster.agent(node)
                                .rest()
                                .get("/api/v1/spaces/" + space)
                                .expect(200)
                                .json(),
                        status -> status.get("state").asString().equals("ended"));
    }

    private static void awaitDetached(Cluster cluster, String space) {
        await("the detachment", TIMEOUT)
                .until(
                        () -> cluster.coordinator()
                                .rest()
                                .get("/api/v1/spaces/" + space + "/attachments")
                                .expect(200)
                                .body(),
                        body -> !new String(body, UTF_8).contains("\"node\""));
    }

    private static void drop(Cluster cluster, String space) {
        awaitDetached(cluster, space);
        cluster.coordinator()
                .rest()
                .send("DELETE", "/api/v1/spaces/" + space, "", new byte[0])
                .expect(204);
    }
}
