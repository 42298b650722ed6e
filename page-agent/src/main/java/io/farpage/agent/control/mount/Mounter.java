package io.farpage.agent.control.mount;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.control.socket.SocketPath;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.fuse.FuseMounts;
import io.farpage.rest.Json;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * The mount process: mounts the file system, and passes its descriptor to the agent of this node, and to each agent
 * that comes after it. While there is none, the kernel keeps its requests, and processes that read wait. One thread;
 * {@link #close} ends it from any thread.
 */
public final class Mounter implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Mounter.class);
    private static final Duration RETRY = Duration.ofMillis(100);
    private static final Duration REFUSED = Duration.ofSeconds(5);
    private static final int BUFFER_BYTES = 64 << 10;
    private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
    private static final int DIRECTORY_COLUMN = 4;

    private final Path directory;
    private final Path agent;
    private final int fuse;
    private final EventFd ending = new EventFd();
    private final Errno errno = Errno.create();
    private final PollSet ready = new PollSet(3);
    private MountHello hello;
    private Optional<String> refusal = Optional.empty();
    private volatile boolean closing;

    /** How serving ended. */
    public enum End {
        /** By {@link #close}. */
        CLOSED,
        /** Another process has unmounted the file system. */
        UNMOUNTED
    }

    private Mounter(Path directory, Path agent, int fuse, MountHello hello) {
        this.directory = directory;
        this.agent = agent;
        this.fuse = fuse;
        this.hello = hello;
    }

    /**
     * Mounts. A file system that an earlier mount process has left at the directory is replaced: files that are open
     * there stay open.
     *
     * @param directory made if it is missing
     * @param agent the socket of the agent that answers
     * @param access permissions of the files, and the owner of the directory and of them
     * @param readahead bytes that the kernel may read before they are asked for, 0 to 1 MiB
     * @throws IOException naming the directory, and what is missing
     * @throws IllegalArgumentException if a number is out of its range
     */
    public static Mounter mount(Path directory, Path agent, SocketAccess access, int readahead) throws IOException {
        Path absolute = directory.toAbsolutePath().normalize();
        if (isMounted(absolute)) {
            log.info("a file system of snapshots was left at {}, and is replaced", absolute);
            var _ = FuseMounts.unmount(absolute);
        }
        Files.createDirectories(absolute);
        PosixFileAttributeView owned = Files.getFileAttributeView(absolute, PosixFileAttributeView.class);
        if (access.owner().isPresent()) {
            owned.setOwner(access.owner().get());
        }
        if (access.group().isPresent()) {
            owned.setGroup(access.group().get());
        }
        Map<String, Object> owner = Files.readAttributes(absolute, "unix:uid,gid");
        MountHello hello = new MountHello(
                MountHello.VERSION,
                absolute.toString(),
                access.mode(),
                SocketPath.number(owner, "uid").intValue(),
                SocketPath.number(owner, "gid").intValue(),
                readahead,
                List.of());
        try {
            return new Mounter(absolute, agent, FuseMounts.mount("farpage", absolute), hello);
        } catch (PosixException e) {
            String fix = switch (e.errno()) {
                case Errno.EPERM -> "; run it as root, or with CAP_SYS_ADMIN";
                case Errno.ENOENT, Errno.ENODEV -> "; load the kernel's module fuse";
                default -> "";
            };
            throw new IOException("snapshots cannot be mounted: " + e.getMessage() + fix, e);
        }
    }

    /** Whether a file system of this kind is mounted at a directory. */
    private static boolean isMounted(Path directory) throws IOException {
        return Files.readAllLines(MOUNTS).stream()
                .map(line -> line.split(" "))
                .anyMatch(columns -> columns.length > DIRECTORY_COLUMN
                        && columns[DIRECTORY_COLUMN].equals(directory.toString())
                        && List.of(columns).contains(FuseMounts.TYPE));
    }

    /**
     * Passes the descriptor to agents until {@link #close}, or the file system is unmounted.
     *
     * @param served runs when an agent has taken the descriptor for the first time
     */
    public End run(Runnable served) {
        boolean wasServed = false;
        while (true) {
            Optional<Integer> connection = connect();
            if (connection.isPresent()) {
                try {
                    wasServed = follow(connection.get(), wasServed, served);
                } finally {
                    FileIo.close(errno, connection.get());
                }
            }
            if (await(-1, refusal.isEmpty() ? RETRY : REFUSED)) {
                return closing ? End.CLOSED : End.UNMOUNTED;
            }
        }
    }

    /** Sends the descriptor to the agent that listens; empty if there is none. */
    private Optional<Integer> connect() {
        int fd = Sockets.openUnix(errno);
        byte[] line = (Json.STRICT.writeValueAsString(hello) + "\n").getBytes(StandardCharsets.UTF_8);
        if (UnixSockets.connect(errno, fd, agent) == 0
                && UnixSockets.send(errno, fd, line, List.of(fuse)) == line.length) {
            return Optional.of(fd);
        }
        FileIo.close(errno, fd);
        return Optional.empty();
    }

    /** Reads what an agent has open, as long as it serves. Returns whether an agent has served. */
    private boolean follow(int connection, boolean wasServed, Runnable served) {
        boolean serves = wasServed;
        StringBuilder text = new StringBuilder();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(BUFFER_BYTES);
            while (!await(connection, Duration.ofDays(1))) {
                UnixSockets.Received part = UnixSockets.receive(errno, connection, buffer, 1);
                if (part.bytes() <= 0) {
                    return serves;
                }
                text.append(new String(
                        buffer.asSlice(0, part.bytes()).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
                for (int end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
                    Optional<MountReply> reply = reply(text.substring(0, end));
                    text.delete(0, end + 1);
                    if (reply.isEmpty()) {
                        continue;
                    }
                    if (!take(reply.get())) {
                        return serves;
                    }
                    if (!serves) {
                        serves = true;
                        served.run();
                    }
                }
            }
        }
        return serves;
    }

    /** What an agent says; one that says what is not understood has said nothing. */
    private Optional<MountReply> reply(String text) {
        try {
            return Optional.of(Json.LENIENT.readValue(text, MountReply.class));
        } catch (JacksonException e) {
            log.warn("the agent at {} sends what is not understood: {}", agent, e.getOriginalMessage());
            return Optional.empty();
        }
    }

    /** Returns whether the agent serves the file system. */
    private boolean take(MountReply reply) {
        if (!reply.refused().equals(refusal)) {
            reply.refused().ifPresent(why -> log.error("the agent at {} does not serve {}: {}", agent, directory, why));
        }
        refusal = reply.refused();
        if (refusal.isEmpty()) {
            hello = hello.withOpen(reply.open());
        }
        return refusal.isEmpty();
    }

    /**
     * Waits for a connection to be readable.
     *
     * @param connection -1 to wait for the time alone
     * @return whether this must end
     */
    private boolean await(int connection, Duration time) {
        ready.clear();
        ready.add(ending.fd(), PollSet.POLLIN);
        ready.add(fuse, 0);
        if (connection >= 0) {
            ready.add(connection, PollSet.POLLIN);
        }
        ready.await(time.toNanos());
        return ready.ready(0) != 0 || ready.ready(1) != 0;
    }

    /** Where the file system is. */
    public Path directory() {
        return directory;
    }

    /** Removes the file system from the directory tree, and ends {@link #run}. Any thread. */
    @Override
    public void close() {
        closing = true;
        int result = FuseMounts.unmount(directory);
        if (result < 0) {
            log.warn("{} is not unmounted: {}", directory, ErrnoName.of(-result));
        }
        ending.signal(Errno.ofThread());
    }
}
