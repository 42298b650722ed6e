package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.NativeThread;
import io.farpage.linux.UnixSockets.Credentials;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The processes that may hand memory over on a socket. */
final class SocketUsersTest {
    private static final int OWNER = 4001;
    private static final int GROUP = 4002;
    private static final int STRANGER = 4003;

    @TempDir
    Path directory;

    private static boolean mayConnect(int mode, int user, Integer... groups) {
        return new SocketUsers(OWNER, GROUP, mode)
                .refuse(new Credentials(1, user, 0, Set.of(groups)))
                .isEmpty();
    }

    @Test
    void shouldAllowRootTheAgentsUserAndTheOwner() {
        assertTrue(mayConnect(0600, 0));
        assertTrue(mayConnect(0600, NativeThread.effectiveUser()));
        assertTrue(mayConnect(0600, OWNER));
    }

    @Test
    void shouldAllowAMemberOfTheGroupOnlyIfTheGroupMayWrite() {
        assertTrue(mayConnect(0660, STRANGER, 7, GROUP));
        assertEquals(false, mayConnect(0600, STRANGER, 7, GROUP));
        assertEquals(false, mayConnect(0660, STRANGER, 7));
    }

    @Test
    void shouldAllowAnyUserOnlyIfOthersMayWrite() {
        assertTrue(mayConnect(0666, STRANGER));
        assertEquals(false, mayConnect(0664, STRANGER));
    }

    @Test
    void shouldNameTheProcessAndTheFixInTheRefusal() {
        assertEquals(
                Optional.of(
                        "process 17 of user 4003 (groups [7, 9]) may not hand memory over: the socket is of user 4001,"
                                + " group 4002, mode 0660; attach with --socket-owner or --socket-mode"),
                new SocketUsers(OWNER, GROUP, 0660).refuse(new Credentials(17, STRANGER, 9, Set.of(9, 7))));
    }

    @Test
    void shouldRefuseAnOwnerThatTheHostDoesNotKnow() {
        assertEquals(
                "socketOwner: 'no-such-user' names a user or group that this host does not know",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> SocketAccess.of("socketOwner", 0600, Optional.of("no-such-user")))
                        .getMessage());
        assertEquals(
                "socketOwner: ':' is not USER, USER:GROUP or :GROUP",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> SocketAccess.of("socketOwner", 0600, Optional.of(":")))
                        .getMessage());
    }

    /**
     * The kernel lets the process in, since the file's permissions were changed after the socket was bound; the agent
     * does not.
     */
    @Test
    void shouldRefuseAnotherUsersProcessThoughTheFileAdmitsIt() throws Exception {
        try (HandoffSocket socket = listening(Optional.empty())) {
            Files.setPosixFilePermissions(socket.path(), PosixFilePermissions.fromString("rwxrwxrwx"));
            Process caller = callAs(STRANGER, socket.path());
            try (HandoffConnection connection = socket.next().orElseThrow()) {
                HandoffException refused = assertThrows(HandoffException.class, connection::message);
                assertTrue(
                        String.valueOf(refused.getMessage())
                                .contains("of user 4003 (groups [4003]) may not hand memory over"),
                        refused::getMessage);
                connection.refuse("refused");
            }
            assertEquals("refused\n", output(caller));
        }
    }

    @Test
    void shouldTakeTheMessageOfTheOwnersProcess() throws Exception {
        try (HandoffSocket socket = listening(Optional.of(Integer.toString(STRANGER)))) {
            Process caller = callAs(STRANGER, socket.path());
            try (HandoffConnection connection = socket.next().orElseThrow()) {
                HandoffConnection.Message message = connection.message();
                assertEquals("[]", message.json());
                assertEquals(caller.pid(), message.pid());
                connection.taken();
            }
            assertEquals("", output(caller));
        }
    }

    private HandoffSocket listening(Optional<String> owner) throws IOException {
        assumeTrue(NativeThread.effectiveUser() == 0, "only root starts processes of other users");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setpriv")), "setpriv (package util-linux) is missing");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        return HandoffSocket.listen(directory.resolve("handoff"), SocketAccess.of("socketOwner", 0600, owner));
    }

    /** A process of another user that connects, sends an empty list and prints what it is answered. */
    private Process callAs(int user, Path socket) throws IOException {
        Path source = Files.writeString(directory.resolve("Caller.java"), """
                import java.net.*;
                import java.nio.*;
                import java.nio.channels.*;
                void main(String[] args) throws Exception {
                    try (var channel = SocketChannel.open(UnixDomainSocketAddress.of(args[0]))) {
                        channel.write(ByteBuffer.wrap("[]".getBytes()));
                        var answer = ByteBuffer.allocate(1000);
                        while (channel.read(answer) >= 0) {}
                        System.out.print(new String(answer.array(), 0, answer.position()));
                    }
                }
                """);
        String id = Integer.toString(user);
        return new ProcessBuilder(List.of(
                        "/usr/bin/setpriv",
                        "--reuid=" + id,
                        "--regid=" + id,
                        "--clear-groups",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        source.toString(),
                        socket.toString()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static String output(Process process) throws IOException, InterruptedException {
        try (InputStream out = process.getInputStream()) {
            String text = new String(out.readAllBytes(), StandardCharsets.UTF_8);
            Deadlines.exit("the end of the process", Deadlines.LONG, process);
            return text;
        }
    }
}
