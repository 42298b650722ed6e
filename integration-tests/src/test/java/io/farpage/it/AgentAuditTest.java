package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Ports;
import java.io.IOException;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a real agent writes into its audit: links, handoffs, connections that are refused, and what REST has changed.
 */
@Tag("soak")
class AgentAuditTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("audit/audit.json");
    }

    private List<JsonNode> lines() throws IOException {
        return Files.readAllLines(file()).stream().map(JSON::readTree).toList();
    }

    private JsonNode awaitLine(String act, String result, Predicate<JsonNode> more) {
        return await(act + ", " + result + ", in the audit", Deadlines.SHORT)
                .until(
                        () -> lines().stream()
                                .filter(line -> line.get("act").asString().equals(act)
                                        && line.get("result").asString().equals(result)
                                        && more.test(line))
                                .toList(),
                        found -> !found.isEmpty())
                .getFirst();
    }

    @Test
    void shouldTellOfLinksHandoffsConnectionsAndPages() throws Exception {
        int port = Ports.free();
        try (Cluster cluster = Cluster.start()) {
            Agent a =
                    cluster.openAgent("a", Map.of("audit.file", file().toString(), "tcp.port", Integer.toString(port)));
            Agent b = cluster.openAgent("b", Map.of());
            cluster.awaitAllLinks();
            JsonNode up = awaitLine("link.up", "ok", line -> true);
            assertEquals("b", up.get("target").asString());
            assertEquals(cluster.incarnation("b"), up.get("incarnation").asString());
            assertEquals("page-agent", up.get("program").asString());
            assertEquals("a", up.get("node").asString());

            refusedConnection(port);
            JsonNode hello = awaitLine("link.hello", "refused", line -> true);
            assertEquals("127.0.0.1", hello.get("from").asString());
            assertTrue(hello.get("reason").asString().contains("something else than a hello"), hello.toString());

            handOffNonsense(cluster);
            JsonNode handoff = awaitLine("handoff", "refused", line -> true);
            assertEquals(ProcessHandle.current().pid(), handoff.get("pid").asLong());
            assertTrue(handoff.get("exe").asString().endsWith("/java"), handoff.toString());
            assertTrue(handoff.has("uid") && handoff.has("gid"), handoff.toString());
            awaitLine(
                    "guest.attach", "ok", line -> line.get("target").asString().contains("audited"));

            cluster.makeSpace("pages", 2, 4096, "b");
            a.putPage("pages", 1, Pages.of(1, 1, 4096)).expect(204);
            a.page("pages", 1).expect(200);
            awaitLine("page.write", "ok", line -> line.get("status").asInt() == 204);

            b.close();
            // An idle link is found to be broken by the next request.
            assertTrue(a.page("pages", 1).status() >= 500);
            JsonNode down = awaitLine("link.down", "ok", line -> true);
            assertFalse(down.get("cause").asString().isEmpty());
            assertTrue(
                    lines().stream()
                            .noneMatch(line -> line.path("method").asString("").equals("GET")),
                    lines().stream().map(JsonNode::toString).collect(Collectors.joining("\n")));
        }
    }

    private static void refusedConnection(int port) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            try {
                socket.getInputStream().readAllBytes();
            } catch (IOException e) {
                assertTrue(String.valueOf(e.getMessage()).contains("reset"), e.toString());
            }
        }
    }

    private void handOffNonsense(Cluster cluster) throws IOException {
        Path path = directory.resolve("vmm");
        new Guests(cluster, "a", "b").attach("audited", path, 4 << 20, 4 << 20);
        try (SocketChannel vmm = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            vmm.connect(UnixDomainSocketAddress.of(path));
            vmm.write(ByteBuffer.wrap("[]".getBytes(StandardCharsets.US_ASCII)));
            vmm.shutdownOutput();
            assertTrue(vmm.read(ByteBuffer.allocate(1000)) > 0);
        }
    }
}
