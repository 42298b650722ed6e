package io.farpage.agent.control.mount;

import io.farpage.agent.control.socket.SocketPath;
import io.farpage.agent.data.mount.FileReads;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.NativeThread;
import io.farpage.linux.PollSet;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file systems that mount processes of this node have passed to this agent. One thread takes their connections;
 * each has a thread of its own.
 */
public final class SnapshotMounts implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SnapshotMounts.class);
    private static final int MODE = 0600;
    private static final int BACKLOG = 4;
    private static final Duration UNREGISTERED = Duration.ofMillis(20);
    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final Path path;
    private final MountContext context;
    private final EventFd wake = new EventFd();
    private final Errno errno = Errno.create();
    private final List<MountSession> sessions = new ArrayList<>();
    private volatile boolean stopping;
    private Thread thread = Thread.ofPlatform().unstarted(() -> {});

    /**
     * @param path of the Unix socket on which mount processes connect
     * @param spaces that are shown
     * @param shard on which they are read
     * @param clock monotonic nanoseconds
     */
    public SnapshotMounts(Path path, SnapshotSpaces spaces, MountShard shard, LongSupplier clock) {
        this.path = path;
        context = new MountContext(spaces, shard, clock, new MountCounters(shard));
    }

    /** Listens once the coordinator knows this node, which cannot attach a snapshot before. */
    public void start(BooleanSupplier isRegistered) {
        thread = Thread.ofPlatform().daemon().name("snapshot-mounts").start(() -> run(isRegistered));
    }

    /** What all of them have given. */
    public MountCounters counters() {
        return context.counters();
    }

    private void run(BooleanSupplier isRegistered) {
        PollSet ready = new PollSet(2);
        while (!stopping && !isRegistered.getAsBoolean()) {
            ready.clear();
            ready.add(wake.fd(), PollSet.POLLIN);
            ready.await(UNREGISTERED.toNanos());
        }
        String said = "";
        while (!stopping) {
            String failure = listen(ready);
            if (!stopping && !failure.equals(said)) {
                log.error("snapshots cannot be mounted yet: no socket at {}: {}", path, failure);
                said = failure;
            }
            ready.clear();
            ready.add(wake.fd(), PollSet.POLLIN);
            ready.await(RETRY.toNanos());
        }
    }

    /** Takes connections until this is closed. Returns why it ended before, if it did. */
    private String listen(PollSet ready) {
        int fd = -1;
        try {
            SocketPath.removeStale(path);
            fd = Sockets.openUnix(errno);
            UnixSockets.bind(errno, fd, path, MODE);
            Sockets.listen(errno, fd, BACKLOG);
            Sockets.setBlocking(errno, fd, false);
            SocketPath bound = SocketPath.bound(path);
            while (!stopping) {
                ready.clear();
                ready.add(wake.fd(), PollSet.POLLIN);
                ready.add(fd, PollSet.POLLIN);
                ready.await(-1);
                closeEnded();
                accept(fd);
            }
            bound.remove();
            return "";
        } catch (RuntimeException | IOException e) {
            return String.valueOf(e.getMessage());
        } finally {
            if (fd >= 0) {
                FileIo.close(errno, fd);
            }
        }
    }

    private void closeEnded() {
        sessions.stream().filter(MountSession::hasEnded).forEach(MountSession::close);
        sessions.removeIf(MountSession::hasEnded);
    }

    private void accept(int fd) {
        int accepted = Sockets.accept(errno, fd, Sockets.SOCK_NONBLOCK);
        if (accepted < 0) {
            return;
        }
        UnixSockets.Credentials peer = UnixSockets.peer(errno, accepted);
        if (peer.user() != NativeThread.effectiveUser() && peer.user() != 0) {
            log.warn("process {} of user {} may not mount snapshots of this agent", peer.pid(), peer.user());
            FileIo.close(errno, accepted);
        } else if (sessions.size() == FileReads.MAX_PORTS) {
            log.warn("process {} is refused: {} file systems are mounted, the most", peer.pid(), FileReads.MAX_PORTS);
            FileIo.close(errno, accepted);
        } else {
            MountSession session = new MountSession(accepted, context);
            sessions.add(session);
            session.start();
        }
    }

    /** Leaves the file systems to the next agent. */
    @Override
    public void close() {
        stopping = true;
        wake.signal(Errno.ofThread());
        try {
            if (!thread.join(CLOSE_TIMEOUT)) {
                log.warn("the socket at {} is not closed within {}", path, CLOSE_TIMEOUT);
                return;
            }
            sessions.forEach(MountSession::close);
            wake.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
