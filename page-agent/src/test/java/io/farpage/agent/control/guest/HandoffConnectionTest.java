package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a VMM reads at the end of its connection. The kernel closes the connections of a process that is killed. */
class HandoffConnectionTest {
    private static final String MESSAGE = "[{\"page_size\":4096}]";

    @TempDir
    private Path directory;

    private final Errno errno = Errno.create();
    private HandoffSocket socket;
    private int vmm;

    @BeforeEach
    void connect() throws IOException {
        Path path = directory.resolve("handoff");
        socket = HandoffSocket.listen(path, SocketAccess.of("socketOwner", 0600, Optional.empty()));
        vmm = Sockets.openUnix(errno);
        assertEquals(0, UnixSockets.connect(errno, vmm, path));
    }

    @AfterEach
    void close() {
        socket.close();
        FileIo.close(errno, vmm);
    }

    private void send(String text, Integer... descriptors) {
        assertEquals(
                text.length(),
                UnixSockets.send(errno, vmm, text.getBytes(StandardCharsets.UTF_8), List.of(descriptors)));
    }

    /** What the VMM receives next: bytes, 0 at the end, or a negative error number. */
    private int received() {
        try (Arena arena = Arena.ofConfined()) {
            return UnixSockets.receive(errno, vmm, arena.allocate(64), 1).bytes();
        }
    }

    @Test
    void shouldResetConnectionIfItIsClosedBeforeMemoryIsTaken() throws Exception {
        send(MESSAGE);
        try (HandoffConnection connection = socket.next().orElseThrow()) {
            assertEquals(MESSAGE, connection.message().json());
        }
        assertEquals(-Errno.ECONNRESET, received());
    }

    @Test
    void shouldEndConnectionWithoutAWordOnceMemoryIsTaken() throws Exception {
        send(MESSAGE);
        try (HandoffConnection connection = socket.next().orElseThrow()) {
            assertEquals(MESSAGE, connection.message().json());
            connection.taken();
        }
        assertEquals(0, received());
    }

    @Test
    void shouldEndConnectionAfterAnswerOfARefusal() throws Exception {
        send(MESSAGE + "\n");
        try (HandoffConnection connection = socket.next().orElseThrow()) {
            connection.refuse("no");
        }
        assertEquals("no\n".length(), received());
        assertEquals(0, received());
    }

    @Test
    void shouldCollectMessageAndDescriptorsThatArriveInPieces() throws Exception {
        try (EventFd first = new EventFd();
                EventFd second = new EventFd()) {
            send("[", first.fd());
            send("{\"a\":\"]", second.fd());
            send("\"}");
            send("]");
            try (HandoffConnection connection = socket.next().orElseThrow()) {
                HandoffConnection.Message message = connection.message();
                assertEquals("[{\"a\":\"]\"}]", message.json());
                assertEquals(2, message.descriptors().size());
                message.descriptors().forEach(descriptor -> FileIo.close(errno, descriptor));
                connection.taken();
            }
            assertEquals(0, received());
        }
    }
}
