package io.farpage.agent.guest;

import io.farpage.posix.Errno;
import io.farpage.posix.ErrnoName;
import io.farpage.posix.EventFd;
import io.farpage.posix.FileIo;
import io.farpage.posix.PollSet;
import io.farpage.posix.Sockets;
import io.farpage.posix.UnixSockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The Unix socket on which a VMM hands its memory over. One thread waits on it; any thread may wake or close it. */
final class HandoffSocket implements AutoCloseable {
    /** How long a VMM that has connected may take to send its message. */
    static final Duration PATIENCE = Duration.ofSeconds(5);

    private static final int MAX_MESSAGE = 1 << 20;
    /** More than a handoff may have, so that one with too many is told how many it sent. */
    private static final int MAX_DESCRIPTORS = 2 * Handoff.MAX_USERFAULTFDS;

    private static final int BACKLOG = 4;

    private final Path path;
    private final int fd;
    private final EventFd wake = new EventFd();
    private final Errno errno = Errno.create();
    private boolean listening;

    /**
     * One message of a VMM.
     *
     * @param json its text
     * @param descriptors that came with it; the receiver's to close
     * @param pid of the process that sent it
     */
    record Message(String json, List<Integer> descriptors, int pid) {}

    private HandoffSocket(Path path, int fd) {
        this.path = path;
        this.fd = fd;
    }

    /**
     * Listens.
     *
     * @throws IOException saying what is in the way
     */
    static HandoffSocket listen(Path path) throws IOException {
        if (Files.exists(path)) {
            removeStale(path);
        }
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        try {
            UnixSockets.bind(errno, fd, path);
            Sockets.listen(errno, fd, BACKLOG);
        } catch (RuntimeException e) {
            FileIo.close(errno, fd);
            throw new IOException("cannot listen on " + path + ": " + e.getMessage(), e);
        }
        HandoffSocket socket = new HandoffSocket(path, fd);
        socket.listening = true;
        return socket;
    }

    /** A socket that nobody listens on any more is of an agent that was killed. Anything else stays. */
    private static void removeStale(Path path) throws IOException {
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        int result = UnixSockets.connect(errno, fd, path);
        FileIo.close(errno, fd);
        if (result == 0) {
            throw new IOException(path + " is in use: somebody listens there; choose another path");
        }
        if (result != -Errno.ECONNREFUSED || Files.isRegularFile(path) || Files.isDirectory(path)) {
            throw new IOException(path + " exists and is no socket of this agent's (" + ErrnoName.of(-result)
                    + "); remove it or choose another path");
        }
        Files.delete(path);
    }

    /**
     * Waits for a VMM to connect.
     *
     * @return its connection, or a negative number after {@link #wakeUp}
     */
    int accept() {
        PollSet waiting = new PollSet(2);
        waiting.add(fd, PollSet.POLLIN);
        waiting.add(wake.fd(), PollSet.POLLIN);
        waiting.await(-1);
        if (waiting.ready(1) != 0) {
            return -Errno.EINTR;
        }
        return Sockets.accept(errno, fd, 0);
    }

    /**
     * Receives a VMM's message, whatever the pieces that it comes in.
     *
     * @throws HandoffException if none comes in time; nothing stays open then
     */
    Message receive(int connection) throws HandoffException {
        Sockets.setReceiveTimeout(errno, connection, PATIENCE);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(MAX_MESSAGE);
            UnixSockets.Received first = UnixSockets.receive(errno, connection, buffer, MAX_DESCRIPTORS);
            if (first.bytes() <= 0) {
                first.descriptors().forEach(stray -> FileIo.close(errno, stray));
                throw new HandoffException(
                        first.bytes() == 0
                                ? "the VMM closed the connection without a message"
                                : "no message came within " + PATIENCE.toSeconds() + " s: "
                                        + ErrnoName.of(-first.bytes()));
            }
            int length = first.bytes();
            // A stream may cut the message; its last byte is the array's closing bracket.
            while (length < MAX_MESSAGE && lastCharacter(buffer, length) != ']') {
                UnixSockets.Received more =
                        UnixSockets.receive(errno, connection, buffer.asSlice(length), MAX_DESCRIPTORS);
                more.descriptors().forEach(stray -> FileIo.close(errno, stray));
                if (more.bytes() <= 0) {
                    break;
                }
                length += more.bytes();
            }
            String json = new String(buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
            return new Message(json, first.descriptors(), UnixSockets.peer(errno, connection));
        }
    }

    /** Tells a VMM why its handoff was not taken, if it still listens. One that was taken hears nothing but the end of the connection. */
    void refuse(int connection, String reason) {
        UnixSockets.send(errno, connection, (reason + "\n").getBytes(StandardCharsets.UTF_8), List.of());
    }

    private static int lastCharacter(MemorySegment buffer, int length) {
        for (int i = length - 1; i >= 0; i--) {
            byte b = buffer.get(ValueLayout.JAVA_BYTE, i);
            if (b > ' ') {
                return b;
            }
        }
        return 0;
    }

    /** Makes {@link #accept} return. Any thread. */
    void wakeUp() {
        wake.signal(Errno.create());
    }

    /** Stops listening and removes the path. By the thread that waits, or when there is none. */
    void stopListening() {
        if (listening) {
            listening = false;
            FileIo.close(errno, fd);
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                // A path that stays is found stale by the next to listen there.
            }
        }
    }

    @Override
    public void close() {
        stopListening();
        wake.close();
    }
}
