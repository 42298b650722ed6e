package io.farpage.agent.rest;

import io.farpage.linux.NativeThread;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Where agents have the sockets of their REST APIs unless they are configured elsewhere: {@code NODE.sock} in a
 * directory of the agent's user. For root that is {@code /run/farpage}; for another user
 * {@code $XDG_RUNTIME_DIR/farpage}, or {@code /tmp/farpage-UID} in a session without one.
 */
public final class SocketDirectory {
    /** What a socket's name ends with. */
    public static final String SUFFIX = ".sock";

    private static final String MOUNTS = ".mounts";

    private static final Path OF_ROOT = Path.of("/run/farpage");

    private SocketDirectory() {}

    /** The directory of this process's user. */
    public static Path own() {
        int user = NativeThread.effectiveUser();
        if (user == 0) {
            return OF_ROOT;
        }
        return Optional.ofNullable(System.getenv("XDG_RUNTIME_DIR"))
                .filter(text -> text.startsWith("/"))
                .map(text -> Path.of(text, "farpage"))
                .orElseGet(() -> Path.of("/tmp/farpage-" + user));
    }

    /** The directories in which a command looks for an agent: that of its own user, then that of root. */
    public static List<Path> searched() {
        return Stream.of(own(), OF_ROOT).distinct().toList();
    }

    /** The socket of a node in a directory. */
    public static Path socket(Path directory, String node) {
        return directory.resolve(node + SUFFIX);
    }

    /** The socket of a node's keeper in a directory. */
    public static Path keeper(Path directory, String node) {
        return directory.resolve(node + ".keeper");
    }

    /** The socket on which a node's agent takes file systems of snapshots, in a directory. */
    public static Path mounts(Path directory, String node) {
        return directory.resolve(node + MOUNTS);
    }

    /** As {@link #mounts}, in the directory of another socket. */
    public static Path mountsBeside(Path other, String node) {
        return other.resolveSibling(node + MOUNTS);
    }

    /**
     * Makes {@link #own} if it does not exist. That of root may be entered by all, since each socket has permissions of
     * its own.
     *
     * @throws IOException if it belongs to another user or others may write to it, so that they could put a socket of
     *     theirs there
     */
    public static void makeOwn() throws IOException {
        Path directory = own();
        String permissions = directory.equals(OF_ROOT) ? "rwxr-xr-x" : "rwx------";
        try {
            Files.createDirectory(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions)));
        } catch (FileAlreadyExistsException e) {
            requireOwn(directory);
        }
    }

    private static void requireOwn(Path directory) throws IOException {
        PosixFileAttributes found =
                Files.readAttributes(directory, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        UserPrincipal self = directory
                .getFileSystem()
                .getUserPrincipalLookupService()
                .lookupPrincipalByName(Integer.toString(NativeThread.effectiveUser()));
        boolean othersWrite = found.permissions().contains(PosixFilePermission.GROUP_WRITE)
                || found.permissions().contains(PosixFilePermission.OTHERS_WRITE);
        if (!found.isDirectory() || !found.owner().equals(self) || othersWrite) {
            throw new IOException(
                    ("%s is not a directory of user %s that others cannot write to; remove it, or set api.socket to"
                                    + " another path")
                            .formatted(directory, self.getName()));
        }
    }
}
