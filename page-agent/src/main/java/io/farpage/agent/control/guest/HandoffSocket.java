package io.farpage.agent.control.guest;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.control.socket.SocketPath;
import io.farpage.linux.DescriptorReserve;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.EventFd;
import io.farpage.linux.Exhaustion;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Unix socket on which a VMM hands its memory over. One thread waits on it for all its connections together, so
 * that a slow connection does not delay another. Any thread may wake or close it.
 */
final class HandoffSocket implements AutoCloseable {
    /** How long a message may take from the connection on, in however many pieces. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);
    /** Connections whose messages are awaited at once; one more ends the oldest. */
    static final int MAX_CONNECTIONS = 8;

    private static final Logger log = LoggerFactory.getLogger(HandoffSocket.class);
    private static final int BACKLOG = 16;
    private static final int SCRATCH_BYTES = 1 << 16;

    private final SocketPath path;
    private final SocketUsers users;
    private final int fd;
    private final EventFd wake = new EventFd();
    private final Errno errno = Errno.create();
    private final MemorySegment scratch = Arena.ofAuto().allocate(SCRATCH_BYTES);
    private final PollSet ready = new PollSet(MAX_CONNECTIONS + 2);
    private final List<HandoffConnection> connections = new ArrayList<>();
    private final Exhaustion exhaustion = new Exhaustion();
    private boolean listening = true;

    private HandoffSocket(SocketPath path, SocketUsers users, int fd) {
        this.path = path;
        this.users = users;
        this.fd = fd;
    }

    /**
     * Listens. A socket at the path that belongs to this user and that no process listens on is replaced; anything else
     * stays.
     *
     * @param access owner and permissions of the socket
     * @throws IOException saying what is in the way
     */
    static HandoffSocket listen(Path path, SocketAccess access) throws IOException {
        SocketPath.removeStale(path);
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        try {
            UnixSockets.bind(errno, fd, path, access.mode());
            access.own(path);
            SocketUsers users = SocketUsers.of(path, access.mode());
            Sockets.listen(errno, fd, BACKLOG);
            Sockets.setBlocking(errno, fd, false);
            return new HandoffSocket(SocketPath.bound(path), users, fd);
        } catch (RuntimeException | IOException e) {
            FileIo.close(errno, fd);
            throw new IOException("cannot listen on " + path + ": " + e.getMessage(), e);
        }
    }

    /** The socket of a guest whose VMM has handed its memory over to an earlier process: it listens no more. */
    static HandoffSocket ended(Path path) {
        HandoffSocket socket = new HandoffSocket(SocketPath.unbound(path), new SocketUsers(0, 0, 0), -1);
        socket.listening = false;
        return socket;
    }

    /**
     * Waits for a connection to bring a message, fail, or pass its deadline.
     *
     * @return the connection, which is then the caller's; empty after {@link #wakeUp}
     */
    Optional<HandoffConnection> next() {
        while (true) {
            Optional<HandoffConnection> finished = removeFinished();
            if (finished.isPresent()) {
                return finished;
            }
            await();
            if (ready.ready(0) != 0) {
                return Optional.empty();
            }
            for (int i = 0; i < connections.size(); i++) {
                if (ready.ready(i + 2) != 0) {
                    connections.get(i).read(scratch);
                }
            }
            if (ready.ready(1) != 0) {
                accept();
            }
        }
    }

    private Optional<HandoffConnection> removeFinished() {
        long now = System.nanoTime();
        for (HandoffConnection connection : connections) {
            if (now - connection.deadline() >= 0) {
                connection.fail("no message came within " + TIMEOUT.toSeconds() + " s");
            }
            if (connection.isFinished()) {
                connections.remove(connection);
                return Optional.of(connection);
            }
        }
        return Optional.empty();
    }

    private void await() {
        long now = System.nanoTime();
        long pause = exhaustion.remainingNanos(now);
        long due = pause > 0 ? pause : Long.MAX_VALUE;
        ready.clear();
        ready.add(wake.fd(), PollSet.POLLIN);
        ready.add(fd, pause > 0 ? 0 : PollSet.POLLIN);
        for (HandoffConnection connection : connections) {
            ready.add(connection.fd(), PollSet.POLLIN);
            due = Math.min(due, Math.max(0, connection.deadline() - now));
        }
        ready.await(due == Long.MAX_VALUE ? -1 : due);
    }

    private void accept() {
        int accepted = Sockets.accept(errno, fd, Sockets.SOCK_NONBLOCK);
        if (accepted >= 0 && DescriptorReserve.contains(accepted, DescriptorReserve.ORDINARY)) {
            FileIo.close(errno, accepted);
            accepted = -Errno.EMFILE;
        }
        if (accepted < 0) {
            if (exhaustion.isOf(-accepted, System.nanoTime())) {
                log.warn("{} cannot accept a connection: {}", path, exhaustion.describe(ErrnoName.of(-accepted)));
            }
            return;
        }
        if (connections.size() == MAX_CONNECTIONS) {
            connections.getFirst().fail("%d newer connections came before its message".formatted(MAX_CONNECTIONS));
        }
        UnixSockets.Credentials peer = UnixSockets.peer(errno, accepted);
        HandoffConnection connection =
                new HandoffConnection(accepted, errno, peer, users.refuse(peer), System.nanoTime() + TIMEOUT.toNanos());
        connections.add(connection);
        connection.read(scratch);
    }

    Path path() {
        return path.path();
    }

    /** Makes {@link #next} return. Any thread. */
    void wakeUp() {
        wake.signal(Errno.create());
    }

    /** Stops listening, ends the connections and removes the path. By the thread that waits, or when there is none. */
    void stopListening() {
        if (listening) {
            listening = false;
            FileIo.close(errno, fd);
            connections.forEach(HandoffConnection::close);
            connections.clear();
            path.remove();
        }
    }

    @Override
    public void close() {
        stopListening();
        wake.close();
    }
}
