package io.farpage.agent.control.socket;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.NativeThread;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file of a Unix socket: when it may be removed. A symbolic link at the path is never followed. */
public final class SocketPath {
    private static final Logger log = LoggerFactory.getLogger(SocketPath.class);
    private static final int S_IFMT = 0170000;
    private static final int S_IFSOCK = 0140000;

    private final Path path;
    private final Identity identity;

    /** What tells one file from another at the same path. */
    private record Identity(long device, long inode) {}

    private record Stat(int type, int owner, Identity identity) {}

    private SocketPath(Path path, Identity identity) {
        this.path = path;
        this.identity = identity;
    }

    /** The path of a socket that was just bound there. */
    public static SocketPath bound(Path path) throws IOException {
        return new SocketPath(path, stat(path).identity());
    }

    /** A path at which this process has bound no socket. */
    public static SocketPath unbound(Path path) {
        return new SocketPath(path, new Identity(-1, -1));
    }

    /**
     * Removes a socket that this user's agent has left behind: one of this user's on which no process listens.
     *
     * @throws IOException if there is anything else at the path, naming it; it stays
     */
    public static void removeStale(Path path) throws IOException {
        Stat stat;
        try {
            stat = stat(path);
        } catch (NoSuchFileException e) {
            return;
        }
        if (stat.type() != S_IFSOCK) {
            throw new IOException(
                    path + " exists and is " + word(stat.type()) + ", not a socket; remove it or choose another path");
        }
        int user = NativeThread.effectiveUser();
        if (stat.owner() != user) {
            throw new IOException(
                    "%s exists and is a socket of user %d, not of this agent's user %d; choose another path"
                            .formatted(path, stat.owner(), user));
        }
        requireNoListener(path);
        if (stat(path).identity().equals(stat.identity())) {
            Files.delete(path);
        }
    }

    /** A connect that does not block fails with EAGAIN if the listener's queue is full (unix(7)). */
    private static void requireNoListener(Path path) throws IOException {
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        int result;
        try {
            Sockets.setBlocking(errno, fd, false);
            result = UnixSockets.connect(errno, fd, path);
        } finally {
            FileIo.close(errno, fd);
        }
        switch (result) {
            case -Errno.ECONNREFUSED -> {}
            case 0, -Errno.EAGAIN ->
                throw new IOException(path + " is in use: a process listens there; choose another path");
            default ->
                throw new IOException(path + " exists and is a socket of another kind (" + ErrnoName.of(-result)
                        + "); remove it or choose another path");
        }
    }

    /** Removes the file, if it is still the one that was bound. */
    public void remove() {
        try {
            if (stat(path).identity().equals(identity)) {
                Files.delete(path);
            }
        } catch (NoSuchFileException e) {
            // It was removed by another process.
        } catch (IOException e) {
            log.warn("{} is not removed: {}; the next socket at this path replaces it", path, e.toString());
        }
    }

    private static Stat stat(Path path) throws IOException {
        Map<String, Object> seen = Files.readAttributes(path, "unix:mode,uid,dev,ino", LinkOption.NOFOLLOW_LINKS);
        return new Stat(
                number(seen, "mode").intValue() & S_IFMT,
                number(seen, "uid").intValue(),
                new Identity(
                        number(seen, "dev").longValue(), number(seen, "ino").longValue()));
    }

    /** A number among the attributes of a file. */
    public static Number number(Map<String, Object> attributes, String name) throws IOException {
        if (attributes.get(name) instanceof Number number) {
            return number;
        }
        throw new IOException("the file system does not report the " + name);
    }

    private static String word(int type) {
        return switch (type) {
            case 0010000 -> "a FIFO";
            case 0020000 -> "a character device";
            case 0040000 -> "a directory";
            case 0060000 -> "a block device";
            case 0100000 -> "a file";
            case 0120000 -> "a symbolic link";
            default -> "of type 0%o".formatted(type);
        };
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    @Override
    public String toString() {
        return path.toString();
    }
}
