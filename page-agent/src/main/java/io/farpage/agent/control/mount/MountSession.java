package io.farpage.agent.control.mount;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.fuse.FuseConnection;
import io.farpage.rest.Json;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * A connection of a mount process, and the file system whose descriptor it brings. The file system goes on if the mount
 * process ends, as long as a process has a file open.
 */
final class MountSession implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(MountSession.class);
    private static final Duration HELLO = Duration.ofSeconds(5);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);
    private static final int MAX_HELLO = 64 << 10;
    private static final int MAX_DESCRIPTORS = 2;

    private final int connection;
    private final MountContext context;
    private final EventFd wake = new EventFd();
    private final Errno errno = Errno.create();
    private final Thread thread;
    private volatile boolean stopping;
    private volatile boolean ended;
    /** Guarded by this. */
    private boolean isConnected = true;

    private volatile Optional<SnapshotMount> mount = Optional.empty();

    /** @param connection closed by the thread */
    MountSession(int connection, MountContext context) {
        this.connection = connection;
        this.context = context;
        thread = Thread.ofPlatform().daemon().name("snapshot-mount").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Whether the file system has ended. */
    boolean hasEnded() {
        return !thread.isAlive() && thread.getState() != Thread.State.NEW;
    }

    private void run() {
        List<Integer> descriptors = new ArrayList<>();
        try {
            MountHello hello = Json.STRICT.readValue(receive(descriptors), MountHello.class);
            if (descriptors.size() != 1) {
                throw new IllegalArgumentException(
                        "%d descriptors came, and one of /dev/fuse is needed".formatted(descriptors.size()));
            }
            FuseConnection fuse = new FuseConnection(descriptors.removeFirst());
            try (SnapshotMount served = new SnapshotMount(fuse, hello, context, this::report, this::end)) {
                mount = Optional.of(served);
                log.info("snapshots are files in {}", hello.directory());
                int resent = fuse.resend();
                if (resent < 0 && !hello.open().isEmpty()) {
                    log.warn(
                            "{}: processes that had a read under way when the agent before ended wait for good: {};"
                                    + " Linux 6.9 or later repeats such reads",
                            hello.directory(),
                            ErrnoName.of(-resent));
                }
                served.start();
                report();
                follow();
            }
        } catch (JacksonException e) {
            refuse(e.getOriginalMessage());
        } catch (IllegalArgumentException e) {
            refuse(String.valueOf(e.getMessage()));
        } finally {
            descriptors.forEach(stray -> FileIo.close(errno, stray));
            disconnect();
        }
    }

    private void refuse(String why) {
        log.warn("a mount process is refused: {}", why);
        send(new MountReply(List.of(), Optional.of(why)));
    }

    /** The first line, and the descriptors that come with it. */
    private String receive(List<Integer> descriptors) {
        StringBuilder text = new StringBuilder();
        PollSet ready = new PollSet(2);
        long deadline = context.clock().getAsLong() + HELLO.toNanos();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(MAX_HELLO);
            while (!text.toString().endsWith("\n")) {
                ready.clear();
                ready.add(connection, PollSet.POLLIN);
                ready.add(wake.fd(), PollSet.POLLIN);
                ready.await(Math.max(0, deadline - context.clock().getAsLong()));
                UnixSockets.Received part = ready.ready(0) == 0
                        ? new UnixSockets.Received(0, List.of())
                        : UnixSockets.receive(errno, connection, buffer, MAX_DESCRIPTORS);
                descriptors.addAll(part.descriptors());
                if (part.bytes() <= 0 || text.length() + part.bytes() > MAX_HELLO) {
                    throw new IllegalArgumentException(
                            "no line of up to %d bytes came within %d s".formatted(MAX_HELLO, HELLO.toSeconds()));
                }
                text.append(new String(
                        buffer.asSlice(0, part.bytes()).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
            }
        }
        return text.toString();
    }

    /** Waits for the end of the file system, or of this agent. */
    private void follow() {
        PollSet ready = new PollSet(2);
        boolean follows = true;
        while (!stopping && !ended) {
            ready.clear();
            ready.add(wake.fd(), PollSet.POLLIN);
            if (follows) {
                ready.add(connection, PollSet.POLLIN);
            }
            ready.await(-1);
            if (follows && ready.ready(1) != 0) {
                // It sends one line alone: it has ended.
                follows = false;
                disconnect();
            }
        }
        log.info("a file system of snapshots {}", ended ? "is unmounted" : "is left to the next agent");
    }

    private void end() {
        ended = true;
        wake.signal(Errno.ofThread());
    }

    /** Sends what is open, which the next agent must know. */
    private synchronized void report() {
        mount.ifPresent(served -> send(new MountReply(served.inUse(), Optional.empty())));
    }

    private synchronized void send(MountReply reply) {
        if (isConnected) {
            byte[] line = (Json.STRICT.writeValueAsString(reply) + "\n").getBytes(StandardCharsets.UTF_8);
            long sent = UnixSockets.send(Errno.ofThread(), connection, line, List.of());
            if (sent >= 0 ? sent < line.length : sent == -Errno.EAGAIN) {
                // The mount process has stood still for long, and a part of a line would be misread. It connects again,
                // and another session takes the file system.
                stopping = true;
                wake.signal(Errno.ofThread());
            }
        }
    }

    private synchronized void disconnect() {
        if (isConnected) {
            isConnected = false;
            FileIo.close(Errno.ofThread(), connection);
        }
    }

    /** Ends the thread, and waits for that. What it has not answered the kernel asks the next agent. */
    @Override
    public void close() {
        stopping = true;
        wake.signal(Errno.ofThread());
        try {
            if (thread.join(CLOSE_TIMEOUT)) {
                wake.close();
            } else {
                log.warn("a file system of snapshots is not left within {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
