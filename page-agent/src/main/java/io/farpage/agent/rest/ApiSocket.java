package io.farpage.agent.rest;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.control.socket.SocketPath;
import io.farpage.rest.ListenException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The path of the REST API's Unix socket. The server binds it in a private directory beside the path. When it has its
 * permissions and the server answers, it is linked to the path and given to its owner, so that no process connects
 * before, and a socket on which another agent listens is never replaced. Used by one thread.
 */
public final class ApiSocket implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ApiSocket.class);
    /** What sockaddr_un holds beside the byte that ends it (unix(7)). */
    private static final int MAX_PATH = 107;
    /** The name of the private directory and of the socket within. */
    private static final int BESIDE = "/.123456/s".length();

    private final Path path;
    private final SocketAccess access;
    private final Path beside;
    private Optional<SocketPath> published = Optional.empty();

    private ApiSocket(Path path, SocketAccess access, Path beside) {
        this.path = path;
        this.access = access;
        this.beside = beside;
    }

    /**
     * Removes a socket that an agent of this user has left at the path, and makes the private directory.
     *
     * @param configured the path; empty: {@link SocketDirectory#own}, where the node's name is the socket's
     * @throws ListenException if a process listens at the path, if the path names a file that is not a socket, or if
     *     the path is too long
     */
    public static ApiSocket prepare(Optional<Path> configured, String node, SocketAccess access) {
        Path path = configured
                .orElseGet(() -> SocketDirectory.socket(SocketDirectory.own(), node))
                .toAbsolutePath()
                .normalize();
        try {
            checkLength(path);
            if (configured.isEmpty()) {
                SocketDirectory.makeOwn();
            }
            SocketPath.removeStale(path);
            Path beside = directoryOf(path).resolve(".%06x".formatted(new SecureRandom().nextInt(1 << 24)));
            Files.createDirectory(
                    beside, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return new ApiSocket(path, access, beside);
        } catch (IOException e) {
            throw failed(path, e);
        }
    }

    private static void checkLength(Path path) throws IOException {
        int bytes = path.toString().getBytes(StandardCharsets.UTF_8).length;
        int directory = directoryOf(path).toString().getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_PATH || directory + BESIDE > MAX_PATH) {
            throw new IOException(
                    ("the path has %d bytes, %d of them its directory; %d and %d are allowed; set api.socket to a"
                                    + " shorter path")
                            .formatted(bytes, directory, MAX_PATH, MAX_PATH - BESIDE));
        }
    }

    private static Path directoryOf(Path path) throws IOException {
        Path directory = path.getParent();
        if (directory == null) {
            throw new IOException("it is a directory; set api.socket to the path of a file");
        }
        return directory;
    }

    /** Where the server binds. */
    public Path bindAt() {
        return beside.resolve("s");
    }

    /** The path under which clients reach it. */
    public Path path() {
        return path;
    }

    /**
     * Puts the bound socket at its path, with its owner and permissions.
     *
     * @throws ListenException if the path is taken by now, or the socket cannot be given to its owner
     */
    public void publish() {
        try {
            Files.setPosixFilePermissions(bindAt(), permissions(access.mode()));
            Files.createLink(path, bindAt());
            published = Optional.of(SocketPath.bound(path));
            removeBeside();
            access.own(path);
        } catch (FileAlreadyExistsException e) {
            throw failed(path, new IOException("another process has made it meanwhile; choose another path", e));
        } catch (IOException e) {
            throw failed(path, e);
        }
    }

    private static Set<PosixFilePermission> permissions(int mode) {
        PosixFilePermission[] bits = PosixFilePermission.values();
        Set<PosixFilePermission> all = EnumSet.noneOf(PosixFilePermission.class);
        for (int i = 0; i < bits.length; i++) {
            if ((mode & 0400 >> i) != 0) {
                all.add(bits[i]);
            }
        }
        return all;
    }

    private void removeBeside() throws IOException {
        Files.deleteIfExists(bindAt());
        Files.deleteIfExists(beside);
    }

    private static ListenException failed(Path path, IOException e) {
        String message = e instanceof FileSystemException file
                ? "%s: %s".formatted(file.getFile(), file.getReason() == null ? "it does not exist" : file.getReason())
                : String.valueOf(e.getMessage());
        return new ListenException("unix:" + path, message, e);
    }

    /** Removes the path, if the socket there is still this one. */
    @Override
    public void close() {
        published.ifPresent(SocketPath::remove);
        published = Optional.empty();
        try {
            removeBeside();
        } catch (IOException e) {
            log.warn("{} is not removed: {}", beside, e.toString());
        }
    }
}
