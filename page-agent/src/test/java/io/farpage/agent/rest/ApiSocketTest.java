package io.farpage.agent.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.access.Identity;
import io.farpage.access.Terms;
import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.config.HostPort;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.NativeThread;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Entrance;
import io.farpage.rest.Health;
import io.farpage.rest.ListenException;
import io.farpage.rest.Metrics;
import io.farpage.rest.Operation;
import io.farpage.rest.RestServer;
import io.farpage.rest.Route;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Unix socket of the REST API: a real server, and clients of several users. */
class ApiSocketTest {
    private static final SocketAccess PRIVATE = SocketAccess.of("api.socket_owner", 0600, Optional.empty());
    private static final String NOBODY = "65534";

    @TempDir
    private Path directory;

    private Path path = Path.of("");

    @BeforeEach
    void choosePath() throws IOException {
        path = directory.resolve("a.sock");
        // Clients of other users get as far as the socket.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** What is open, closed by the test or after it. */
    private record Served(RestServer server, ApiSocket socket) implements AutoCloseable {
        @Override
        public void close() {
            server.close();
            socket.close();
        }
    }

    private Optional<Served> open = Optional.empty();

    @AfterEach
    void end() {
        open.ifPresent(Served::close);
    }

    private Served serve(SocketAccess access, List<String> roles, Optional<HostPort> tcp) {
        ApiSocket socket = ApiSocket.prepare(Optional.of(path), "a", access);
        AccessControl control =
                AccessControl.open(List.of()).withSocket(Terms.ofAgent("a"), SocketRoles.of("api.socket_roles", roles));
        Operation<Void, Void> asks =
                Operation.getText(AgentOperations.LIST_LINKS.path(), AgentOperations.LIST_LINKS.access(), "text/plain");
        Route said = new Route(asks, ctx -> {
            Identity identity = AccessControl.identity(ctx);
            ctx.result(identity.toString());
        });
        RestServer server = RestServer.start(
                new RestServer.Options(
                        "test",
                        "1",
                        new Entrance(tcp, Optional.empty(), control, Optional.of(socket.bindAt())),
                        4096,
                        () -> true),
                List.of(said),
                new Metrics("farpage_test"),
                () -> new Health(true, "test", "1", Map.of("what", "details"), List.of()),
                RestServer.Around.NOTHING);
        socket.publish();
        Served served = new Served(server, socket);
        open = Optional.of(served);
        return served;
    }

    private static String ask(Path socket, String target) throws IOException {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(socket));
            channel.write(ByteBuffer.wrap(("GET " + target + " HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII)));
            return new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Asks as another user. */
    private String askAs(String user, String group, String target) throws Exception {
        assumeTrue(NativeThread.effectiveUser() == 0, "only root can run a client as another user");
        assumeTrue(Files.exists(Path.of("/usr/bin/setpriv")), "setpriv (util-linux) is missing");
        assumeTrue(Files.exists(Path.of("/usr/bin/curl")), "curl is missing");
        Process curl = new ProcessBuilder(
                        "setpriv",
                        "--reuid=" + user,
                        "--regid=" + group,
                        "--clear-groups",
                        "curl",
                        "-sS",
                        "-i",
                        "--unix-socket",
                        path.toString(),
                        "http://agent" + target)
                .redirectErrorStream(true)
                .start();
        String said = new String(curl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Deadlines.exit("the end of the process", Deadlines.LONG, curl);
        return said;
    }

    @Test
    void shouldServeTheAgentsUserAsAdminWithoutATcpPort() throws Exception {
        serve(PRIVATE, List.of(), Optional.empty());
        String answer = ask(path, "/api/v1/links");
        assertTrue(answer.startsWith("HTTP/1.1 200"), answer);
        assertTrue(answer.contains("admin '"), answer);
        assertTrue(answer.contains("(unix socket)"), answer);
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS)));
        try (Stream<Path> all = Files.list(directory)) {
            assertEquals(List.of(path), all.toList(), "the private directory is gone");
        }
    }

    @Test
    void shouldRefuseToTakeASocketOnWhichAnAgentListens() throws Exception {
        serve(PRIVATE, List.of(), Optional.empty());
        ListenException refused =
                assertThrows(ListenException.class, () -> ApiSocket.prepare(Optional.of(path), "a", PRIVATE));
        assertEquals(
                "cannot listen on unix:%s: %s is in use: a process listens there; choose another path"
                        .formatted(path, path),
                refused.getMessage());
        assertTrue(ask(path, "/health").startsWith("HTTP/1.1 200"), "the first one is still reached");
    }

    @Test
    void shouldNotTakeASocketThatAnotherAgentMakesMeanwhile() throws Exception {
        ApiSocket late = ApiSocket.prepare(Optional.of(path), "a", PRIVATE);
        try (late;
                ServerSocketChannel bound = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            bound.bind(UnixDomainSocketAddress.of(late.bindAt()));
            serve(PRIVATE, List.of(), Optional.empty());
            String message = assertThrows(ListenException.class, late::publish).toString();
            assertTrue(message.contains("another process has made it meanwhile"), message);
        }
        assertTrue(ask(path, "/health").startsWith("HTTP/1.1 200"), "the path is still that of the first");
    }

    @Test
    void shouldReplaceASocketThatAKilledAgentHasLeft() throws Exception {
        // The JDK leaves the path behind when it closes the channel, as the kernel does when a process is killed.
        ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(path))
                .close();
        assertTrue(Files.exists(path));
        serve(PRIVATE, List.of(), Optional.empty());
        assertTrue(ask(path, "/health").startsWith("HTTP/1.1 200"));
    }

    @Test
    void shouldNotReplaceAFile() throws Exception {
        Files.writeString(path, "precious");
        String message = assertThrows(ListenException.class, () -> ApiSocket.prepare(Optional.of(path), "a", PRIVATE))
                .toString();
        assertTrue(message.contains("exists and is a file, not a socket"), message);
        assertEquals("precious", Files.readString(path));
    }

    @Test
    void shouldNameAPathThatIsTooLong() {
        Path tooLong = directory.resolve("x".repeat(108));
        String message = assertThrows(
                        ListenException.class, () -> ApiSocket.prepare(Optional.of(tooLong), "a", PRIVATE))
                .toString();
        assertTrue(message.contains("cannot listen on unix:" + tooLong + ": the path has "), message);
        assertTrue(message.endsWith("107 and 97 are allowed; set api.socket to a shorter path"), message);
    }

    @Test
    void shouldRemoveItsPathWhenItCloses() {
        Served served = serve(PRIVATE, List.of(), Optional.of(new HostPort("127.0.0.1", 0)));
        served.close();
        open = Optional.empty();
        assertFalse(Files.exists(path, LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void shouldLetTheKernelRefuseUsersThatMayNotWriteToTheSocket() throws Exception {
        serve(PRIVATE, List.of(), Optional.empty());
        String said = askAs(NOBODY, NOBODY, "/health");
        assertTrue(said.contains("curl: (7)"), said);
    }

    @Test
    void shouldTellAUserWithoutARoleNothingButThatTheServiceIsHealthy() throws Exception {
        serve(SocketAccess.of("api.socket_owner", 0666, Optional.empty()), List.of(), Optional.empty());
        String health = askAs(NOBODY, NOBODY, "/health");
        assertTrue(health.startsWith("HTTP/1.1 200"), health);
        assertFalse(health.contains("details\":{\"what\""), health);
        String links = askAs(NOBODY, NOBODY, "/api/v1/links");
        assertTrue(links.startsWith("HTTP/1.1 403"), links);
        assertTrue(links.contains("has no role on this socket; api.socket_roles gives one"), links);
    }

    @Test
    void shouldGiveAUserTheRoleOfItsNumber() throws Exception {
        serve(
                SocketAccess.of("api.socket_owner", 0600, Optional.of(NOBODY)),
                List.of(NOBODY + "=metrics"),
                Optional.empty());
        assertTrue(askAs(NOBODY, NOBODY, "/metrics").startsWith("HTTP/1.1 200"));
        String links = askAs(NOBODY, NOBODY, "/api/v1/links");
        assertTrue(links.startsWith("HTTP/1.1 403"), links);
        assertTrue(links.contains("metrics '"), links);
    }

    @Test
    void shouldGiveAUserTheHighestRoleOfItsGroups() throws Exception {
        serve(
                SocketAccess.of("api.socket_owner", 0660, Optional.of(":7777")),
                List.of(":7777=viewer", "4001=metrics"),
                Optional.empty());
        String viewer = askAs("4001", "7777", "/api/v1/links");
        assertTrue(viewer.startsWith("HTTP/1.1 200"), viewer);
        assertTrue(viewer.contains("viewer '"), viewer);
    }

    @Test
    void shouldNameARoleOfAUserThatDoesNotExist() {
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> SocketRoles.of("api.socket_roles", List.of("no-such-user=viewer")))
                .toString();
        assertTrue(
                message.endsWith(
                        "api.socket_roles: 'no-such-user=viewer' names a user or group that this host does not know"),
                message);
    }
}
