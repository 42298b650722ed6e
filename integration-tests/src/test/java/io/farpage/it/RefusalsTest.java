package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Attempts;
import io.farpage.it.harness.Attempts.Attempt;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.DocumentedRefusals;
import io.farpage.it.harness.DocumentedRefusals.Cell;
import io.farpage.it.harness.DocumentedRefusals.Port;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.HandoffAttempts;
import io.farpage.it.harness.HttpAttempts;
import io.farpage.it.harness.LinkAttempts;
import io.farpage.it.harness.Stranger;
import io.farpage.linux.NativeThread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Each cell of the table of refusals in docs/security.md, made to happen: the answer is that of the cell, the log of
 * the port's program has the line of the guide, whole, and its audit has a line with the same reason. Attempts that
 * meet deadlines of 5 and 10 s begin before all others and are waited for last.
 */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("processes")
class RefusalsTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int CONNECTIONS = 40;
    /** An eighth of what a heap of 128 MiB has room for. */
    private static final int SOCKET_CONNECTIONS = 128;

    private static final long PAUSE_NANOS = 200_000_000;
    private static final String IN_WORDS = "the reason";
    private static final Set<String> OTHER_USERS = Set.of("user without a role", "a role that is too low");

    private final Path directory;
    private final Certificates certificates;
    private final Cluster cluster;
    private final Attempts attempts = new Attempts();
    private final Map<String, FutureTask<String>> slow = new HashMap<>();
    private final Map<Long, Long> latest = new HashMap<>();
    private final LinkAttempts links;

    @RegisterExtension
    final ClusterLog log;

    RefusalsTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        certificates = new Certificates(directory.resolve("ca"));
        Map<String, String> settings = new LinkedHashMap<>(certificates.settings("coordinator"));
        settings.put("limits.address_connections", Integer.toString(CONNECTIONS));
        settings.put("lease.duration", "20s");
        settings.put("lease.heartbeat_interval", "1s");
        cluster = Cluster.startProcess(settings);
        log = new ClusterLog(() -> cluster);
        links = new LinkAttempts(attempts, cluster, certificates);
        // Clients of another user get as far as the sockets.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        launch("a", "off", "b,y");
        launch("b", "require", "a,z");
        cluster.awaitAllLinks();
    }

    private void launch(String node, String encryption, String peers) {
        Map<String, String> own = new LinkedHashMap<>(certificates.node(node));
        own.put("api.socket", socket(node).toString());
        own.put("api.socket_mode", "0666");
        own.put("api.socket_roles", "65534=metrics");
        own.put("audit.file", audit(node).toString());
        own.put("limits.address_connections", Integer.toString(CONNECTIONS));
        own.put("link.encryption", encryption);
        own.put("link.allowed_peers", peers);
        own.put("tcp.allowed_addresses", "127.0.0.0/29");
        cluster.launchAgent(node, own);
    }

    @BeforeAll
    void begin() throws Exception {
        HttpAttempts http = new HttpAttempts(attempts, certificates, new Certificates(directory.resolve("foreign")));
        http.addTls(
                Port.COORDINATOR,
                cluster.coordinator().rest(),
                "coordinator",
                new String[] {"a", "POST", "/api/v1/nodes/b/heartbeat", "{\"incarnation\":\"0000000000000001\"}"},
                CONNECTIONS);
        http.addTls(
                Port.AGENT,
                cluster.agent("a").rest(),
                "a",
                new String[] {"b", "DELETE", "/api/v1/spaces/vm1/guest", ""},
                CONNECTIONS);
        http.addSocket(socket("a"), SOCKET_CONNECTIONS);
        for (Port port : List.of(Port.AGENT, Port.SOCKET)) {
            cluster.makeSpace("memory-" + port.ordinal(), 16, 4096, "b");
        }
        http.addMemory(cluster.agent("a").rest(), "a", socket("a"));
        new HandoffAttempts(attempts, directory, new Guests(cluster, "a", "b")).add();
        links.add(Port.LINK, "a", "b", "y", "x");
        links.add(Port.ENCRYPTED, "b", "a", "z", "w");
        for (Cell cell : DocumentedRefusals.cells()) {
            if (cell.attempt().endsWith("not complete")) {
                FutureTask<String> task = new FutureTask<>(
                        attempts.find(cell.attempt(), cell.port()).orElseThrow()::make);
                slow.put(cell.name(), task);
                Thread.ofPlatform().daemon().name(cell.name()).start(task);
            }
        }
    }

    @AfterAll
    void close() {
        links.close();
        cluster.close();
    }

    private Path socket(String node) {
        return directory.resolve(node + ".sock");
    }

    private Path audit(String node) {
        return directory.resolve(node + "-audit.json");
    }

    private ChildJvm program(Port port) {
        return switch (port) {
            case COORDINATOR -> cluster.coordinatorProcess().process();
            case AGENT, SOCKET, HANDOFF, LINK -> cluster.process("a").process();
            case ENCRYPTED -> cluster.process("b").process();
        };
    }

    private Path audit(Port port) {
        return switch (port) {
            case COORDINATOR -> cluster.coordinator().store().resolve("audit.json");
            case AGENT, SOCKET, HANDOFF, LINK -> audit("a");
            case ENCRYPTED -> audit("b");
        };
    }

    private static List<JsonNode> refused(Path audit) throws IOException {
        return Files.readAllLines(audit).stream()
                .map(JSON::readTree)
                .filter(line -> line.get("result").asString().equals("refused"))
                .toList();
    }

    private static List<String> logged(ChildJvm program) {
        return program.err().lines().toList();
    }

    /** Cells that are available at once come first: meanwhile those with deadlines get on. */
    static List<Cell> cells() {
        return DocumentedRefusals.cells().stream()
                .collect(Collectors.partitioningBy(cell -> cell.attempt().endsWith("not complete")))
                .values()
                .stream()
                .flatMap(List::stream)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("cells")
    void shouldRefuseWithTheAnswerAndTheLineOfTheGuideAndAuditIt(Cell cell) throws Exception {
        if (OTHER_USERS.contains(cell.attempt())
                && Set.of(Port.SOCKET, Port.HANDOFF).contains(cell.port())) {
            requireOtherUsers();
        }
        Attempt attempt = attempts.find(cell.attempt(), cell.port())
                .orElseThrow(() -> new AssertionError("no test knows " + cell.name()));
        pace(program(cell.port()));
        Optional<FutureTask<String>> begun = Optional.ofNullable(slow.get(cell.name()));
        int before = begun.isPresent() ? 0 : logged(program(cell.port())).size();
        int audited = begun.isPresent() ? 0 : refused(audit(cell.port())).size();
        String answer = begun.isPresent() ? begun.get().get() : attempt.make();
        if (cell.answer().equals(IN_WORDS)) {
            assertFalse(answer.isBlank(), "a reason");
        } else {
            assertEquals(cell.answer(), answer);
        }
        String line = await("'" + cell.line() + "' in the log", Duration.ofSeconds(10))
                .pollInterval(Duration.ofMillis(20))
                .until(
                        () -> logged(program(cell.port())).stream()
                                .skip(before)
                                .filter(said -> cell.line().matcher(said).find())
                                .filter(said -> !cell.answer().equals(IN_WORDS) || said.contains(answer.strip()))
                                .findFirst(),
                        Optional::isPresent)
                .orElseThrow();
        await("a line of '" + line + "' in the audit", Duration.ofSeconds(10))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> refused(audit(cell.port())).stream()
                        .skip(audited)
                        .anyMatch(each ->
                                line.contains(each.path("reason").asString(line + " more")) && each.has("who")));
    }

    /** Each program logs ten refusals a second; up to five attempts with deadlines end in the same one. */
    private void pace(ChildJvm program) {
        long due = latest.getOrDefault(program.pid(), System.nanoTime()) + PAUSE_NANOS;
        while (System.nanoTime() - due < 0) {
            LockSupport.parkNanos(due - System.nanoTime());
        }
        latest.put(program.pid(), System.nanoTime());
    }

    private static void requireOtherUsers() {
        assumeTrue(NativeThread.effectiveUser() == 0, "only root can run a client as another user");
        for (String tool : List.of("setpriv", "curl")) {
            assumeTrue(Files.exists(Path.of("/usr/bin", tool)), tool + " is missing");
        }
    }

    @Test
    void shouldDocumentEachAttemptOfThisTestAtEachPort() {
        Set<String> documented =
                DocumentedRefusals.cells().stream().map(Cell::name).collect(Collectors.toCollection(TreeSet::new));
        assertEquals(documented, new TreeSet<>(attempts.names()));
    }

    @Test
    void shouldNameTheUserOfTheUnixSocketInTheAudit() throws Exception {
        try (Stranger root = Stranger.unix(socket("a"))) {
            String said = root.say("DELETE /api/v1/spaces/none/guest HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    .untilItEnds(Duration.ofSeconds(20));
            assertTrue(said.startsWith("HTTP/1.1 4"), said);
        }
        String user = System.getProperty("user.name");
        JsonNode line = await("the detaching in the audit", Deadlines.LONG)
                .until(
                        () -> Files.readAllLines(audit("a")).stream()
                                .map(JSON::readTree)
                                .filter(each -> each.get("act").asString().equals("guest.detach")
                                        && each.path("target").asString("").contains("none"))
                                .toList(),
                        lines -> !lines.isEmpty())
                .getLast();
        assertEquals("unix socket, user " + user, line.get("from").asString());
        assertEquals(
                "{\"kind\":\"admin\",\"name\":\"" + user + "\"}",
                line.get("who").toString());
    }
}
