package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.node.PageAgent;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.crypto.LibSsl;
import io.farpage.verbs.VerbsException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Which peers an agent links with, and whether in the clear. Whole agents in this process, with a soft device that
 * poses as an RDMA device.
 */
@Tag("portable")
final class AllowedPeersTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(40);
    private static final String NOWHERE = "/nonexistent/libssl.so.3";

    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private final FaultyProvider rdma = new FaultyProvider();

    @TempDir
    private Path directory = Path.of("");

    private Optional<TestCoordinator> coordinator = Optional.empty();

    @BeforeEach
    void start() {
        TestCoordinator started = new TestCoordinator(directory);
        coordinator = Optional.of(started);
        open.push(started);
    }

    @AfterEach
    void end() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    private Config config(String node, Map<String, String> more) throws ConfigException {
        Map<String, String> settings = new HashMap<>(Map.of(
                "node.id", node,
                "api.listen", "127.0.0.1:0",
                "api.socket", directory.resolve(node + ".sock").toString(),
                "coordinator.url", coordinator.orElseThrow().url().toString(),
                "pool.exported", "2MiB",
                "pool.staging", "4MiB",
                "pool.hugepages", "off",
                "shard.idle", "block",
                "link.grace", "100ms",
                "link.rdma_pause", "200ms"));
        settings.putAll(more);
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), settings);
    }

    private PageAgent agent(String node, Map<String, String> more) throws Exception {
        Config config = config(node, more);
        boolean encrypts = more.containsKey("link.encryption");
        Providers providers = encrypts ? Providers.of(config) : new Providers(rdma, Providers.tcp(config));
        PageAgent agent = PageAgent.open(config, providers, reason -> {});
        open.push(agent);
        return agent;
    }

    private static LinkStatus status(PageAgent agent, String peer) {
        return agent.links().status().stream()
                .filter(link -> link.peer().equals(peer))
                .findFirst()
                .orElse(new LinkStatus(peer, "none", "", "", "", List.of()));
    }

    private static void awaitLink(PageAgent agent, String peer, String transport) {
        Deadlines.await("a link of " + agent.node() + " to " + peer + " over " + transport, TIMEOUT)
                .untilAsserted(() -> {
                    LinkStatus now = status(agent, peer);
                    assertEquals("up " + transport, now.state() + " " + now.transport(), now.detail());
                });
    }

    private static void awaitDetail(PageAgent agent, String peer, String detail) {
        Deadlines.await("the reason at " + agent.node(), TIMEOUT)
                .untilAsserted(() -> assertEquals(detail, status(agent, peer).detail()));
    }

    /** Neither side's link comes up within a second, which is many times what one takes. */
    private static void requireNoLink(PageAgent one, PageAgent other) {
        Deadlines.await("no link", Deadlines.SHORT)
                .during(Duration.ofSeconds(1))
                .untilAsserted(() -> {
                    assertNotEquals("up", status(one, other.node()).state());
                    assertNotEquals("up", status(other, one.node()).state());
                });
    }

    @Test
    void shouldNotLinkWithANodeThatIsNotOnTheList() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of("link.allowed_peers", "c,d"));
        awaitDetail(b, "a", "node 'a' is not in link.allowed_peers; add it there if it belongs to the cluster");
        a.links().connect("b");
        requireNoLink(a, b);
        PageAgent c = agent("c", Map.of());
        awaitLink(b, "c", "rdma");
        awaitLink(c, "b", "rdma");
    }

    @Test
    void shouldNotLinkWithANodeWhoseAddressIsNotOnTheList() throws Exception {
        PageAgent a = agent("a", Map.of("transport.mode", "tcp"));
        PageAgent b = agent("b", Map.of("transport.mode", "tcp", "tcp.allowed_addresses", "10.0.0.0/8,192.0.2.1"));
        awaitDetail(
                b,
                "a",
                "address ::ffff:127.0.0.1 of node 'a' is none of tcp.allowed_addresses, [10.0.0.0/8, 192.0.2.1/32];"
                        + " add it there to reach the node under it");
        requireNoLink(a, b);
    }

    @Test
    void shouldLinkOverTcpWithANodeWhoseGidIsNotOnTheList() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of("rdma.allowed_gids", "fe80::/10", "tcp.allowed_addresses", "127.0.0.0/8"));
        awaitLink(a, "b", "tcp");
        awaitLink(b, "a", "tcp");
        requireRdmaIsRefused(b);
    }

    private static void requireRdmaIsRefused(PageAgent b) {
        Deadlines.await("the reason", TIMEOUT)
                .until(() -> status(b, "a").detail().contains("of node 'a' is none of rdma.allowed_gids"));
        assertEquals("tcp", status(b, "a").transport());
    }

    @Test
    void shouldEncryptALinkThatOneSideRequiresToBe() throws Exception {
        LibSsl.Loading library = LibSsl.load(Optional.empty());
        assumeTrue(library instanceof LibSsl.Loading.Loaded, library::toString);
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of("link.encryption", "require"));
        awaitLink(a, "b", "tcp");
        awaitLink(b, "a", "tcp");
        assertTrue(
                b.transports().describe().contains("link.encryption is require, and RDMA devices do not encrypt"),
                b.transports().describe());
    }

    @Test
    void shouldNotLinkInTheClearWhenThisSideHasNoLibrary() throws Exception {
        LibSsl.Loading library = LibSsl.load(Optional.empty());
        assumeTrue(library instanceof LibSsl.Loading.Loaded, library::toString);
        PageAgent a = agent("a", Map.of("link.ssl_library", NOWHERE));
        PageAgent b = agent("b", Map.of("link.encryption", "require"));
        requireNoLink(a, b);
    }

    @Test
    void shouldNotStartWithoutTheLibraryThatItRequires() throws Exception {
        Config config = config("a", Map.of("link.encryption", "require", "link.ssl_library", NOWHERE));
        VerbsException refused =
                assertThrows(VerbsException.class, () -> PageAgent.open(config, Providers.of(config), reason -> {}));
        assertEquals(
                "open soft0: its connections must be encrypted, and cannot load " + NOWHERE
                        + "; install OpenSSL 3: apt-get install libssl3",
                refused.getMessage());
    }

    @Test
    void shouldNotStartWithoutTcpWhenLinksMustBeEncrypted() throws Exception {
        Config config = config("a", Map.of("link.encryption", "require", "transport.mode", "rdma"));
        VerbsException refused =
                assertThrows(VerbsException.class, () -> PageAgent.open(config, Providers.of(config), reason -> {}));
        assertEquals(
                "transport.mode is rdma and no RDMA device is usable: NO_DEVICE: link.encryption is require, and RDMA"
                        + " devices do not encrypt; set link.encryption to off to use RDMA, and encrypt spaces instead,"
                        + " or set transport.mode to auto",
                refused.getMessage());
    }

    @Test
    void shouldRefuseAPrefixWithBitsBehindIt() {
        ConfigException refused =
                assertThrows(ConfigException.class, () -> config("a", Map.of("rdma.allowed_gids", "10.1.0.0/8")));
        assertTrue(String.valueOf(refused.getMessage()).contains("rdma.allowed_gids"), refused::toString);
    }
}
