package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Command;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Agents as they are without configuration: no TCP port for their REST API, and commands that use their Unix sockets.
 */
@Tag("portable")
@Tag("processes")
class AgentSocketTest {

    @TempDir
    private Path directory;

    @SuppressWarnings("NullAway.Init") // before each test
    private Cluster cluster;

    private final List<ChildJvm> agents = new ArrayList<>();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeEach
    void start() {
        cluster = Cluster.start(Map.of());
    }

    @AfterEach
    void end() {
        agents.forEach(ChildJvm::close);
        cluster.close();
    }

    private ChildJvm agent(String node) {
        return agent(node, directory.resolve(node + ".sock"));
    }

    private ChildJvm agent(String node, Path socket) {
        List<String> arguments = new ArrayList<>(List.of("run"));
        for (String setting : List.of(
                "node.id=" + node,
                "api.socket=" + socket,
                "coordinator.url=" + cluster.coordinator().rest().base(),
                "pool.exported=8MiB",
                "pool.staging=4MiB",
                "pool.hugepages=off",
                "shard.idle=block")) {
            arguments.addAll(List.of("--set", setting));
        }
        ChildJvm child = ChildJvm.start(node, Main.class, arguments);
        agents.add(child);
        return child;
    }

    private static void awaitServing(ChildJvm agent) {
        await("the agent listens on its socket", Deadlines.LONG)
                .until(() -> agent.out().contains("listening on unix:"));
    }

    /** A page on the standard output of a process. */
    private static String standardOutput(String... words) {
        try (ChildJvm child = ChildJvm.start("command", Main.class, List.of(words))) {
            assertEquals(0, child.awaitEnd(), child.err());
            return child.out();
        }
    }

    @Test
    void shouldServeCommandsOnItsSocketAndListenOnNoRestPort() throws Exception {
        ChildJvm a = agent("a");
        ChildJvm b = agent("b");
        awaitServing(a);
        awaitServing(b);
        assertEquals(
                "page-agent a listening on unix:" + directory.resolve("a.sock"),
                a.out()
                        .lines()
                        .filter(line -> line.contains("listening"))
                        .findFirst()
                        .orElseThrow());
        await("the link to b in the log", Deadlines.LONG)
                .until(() -> a.out().contains("link to b is up") || a.err().contains("link to b is up"));
        cluster.makeSpace("demo", 2, 4096, "b");
        String agent = "unix:" + directory.resolve("a.sock");
        Path page = Files.writeString(directory.resolve("page"), "hello");
        assertEquals(
                new Command(0, "", ""),
                Command.agent(
                        "page", "put", "--agent", agent, "--space", "demo", "--page", "1", "--in", page.toString()));
        String read = standardOutput("page", "get", "--agent", agent, "--space", "demo", "--page", "1");
        assertTrue(read.startsWith("hello"), read);
        Path image = directory.resolve("image");
        assertEquals(
                new Command(0, "", ""),
                Command.agent("save", "--agent", agent, "--space", "demo", "--file", image.toString()));
        assertEquals(8192, Files.size(image));
        assertEquals(
                new Command(0, "", ""),
                Command.agent("load", "--agent", agent, "--space", "demo", "--file", image.toString()));
        assertEquals(0, Command.agent("guests", "--agent", agent).code());
        assertEquals(
                "127.0.0.1:0",
                cluster.client().node("a").orElseThrow().address(),
                "it registers no port of its REST API");
        long pid = a.pid();
        List<String> listening = listeners(pid);
        assertEquals(1, listening.size(), "only the port of the pages: " + listening);
    }

    /** The sockets of a process that listen on TCP. */
    private static List<String> listeners(long pid) throws Exception {
        List<String> inodes = new ArrayList<>();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/" + pid + "/fd"))) {
            for (Path descriptor : descriptors.toList()) {
                try {
                    inodes.add(Files.readSymbolicLink(descriptor).toString());
                } catch (java.io.IOException e) {
                    // Closed meanwhile.
                }
            }
        }
        List<String> found = new ArrayList<>();
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] fields = line.strip().split("\\s+");
                if (fields.length > 9 && fields[3].equals("0A") && inodes.contains("socket:[" + fields[9] + "]")) {
                    found.add(fields[1]);
                }
            }
        }
        return found;
    }

    @Test
    void shouldReplaceTheSocketOfAKilledAgentButNotOfALiveOne() throws Exception {
        ChildJvm first = agent("a");
        awaitServing(first);
        ChildJvm second = agent("other", directory.resolve("a.sock"));
        assertEquals(1, second.awaitEnd());
        assertTrue(
                second.err()
                        .contains(("page-agent: cannot listen on unix:%s: %s is in use: a process listens there; choose"
                                        + " another path")
                                .formatted(directory.resolve("a.sock"), directory.resolve("a.sock"))),
                second.err());
        first.kill();
        assertTrue(Files.exists(directory.resolve("a.sock")), "it is left behind");
        Command dead = Command.agent("guests", "--agent", "unix:" + directory.resolve("a.sock"));
        assertEquals(1, dead.code());
        assertTrue(dead.err().contains("nothing listens there; is it running?"), dead.err());
        ChildJvm third = agent("a");
        awaitServing(third);
        assertEquals(
                0,
                Command.agent("guests", "--agent", "unix:" + directory.resolve("a.sock"))
                        .code());
        third.terminate();
        assertEquals(0, third.awaitEnd());
        assertFalse(Files.exists(directory.resolve("a.sock")), "an agent that ends removes its socket");
    }
}
