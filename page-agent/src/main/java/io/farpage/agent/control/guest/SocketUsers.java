package io.farpage.agent.control.guest;

import io.farpage.agent.control.socket.SocketPath;
import io.farpage.linux.NativeThread;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The users whose processes may hand memory over on a socket: what owner, group and permissions of its file say. The
 * kernel checks the file when a process connects. The agent checks the credentials of the process as well
 * (SO_PEERCRED), since a change of the file's permissions gets around the kernel's check.
 *
 * @param user owner of the socket
 * @param group of the socket
 * @param mode permissions of the socket
 */
record SocketUsers(int user, int group, int mode) {
    private static final int ROOT = 0;
    private static final int GROUP_WRITES = 0020;
    private static final int OTHERS_WRITE = 0002;

    /** Reads owner and group of a socket that was just bound. */
    static SocketUsers of(Path path, int mode) throws IOException {
        Map<String, Object> file = Files.readAttributes(path, "unix:uid,gid", LinkOption.NOFOLLOW_LINKS);
        return new SocketUsers(
                SocketPath.number(file, "uid").intValue(),
                SocketPath.number(file, "gid").intValue(),
                mode);
    }

    /** Why a process may not hand memory over; empty if it may. */
    Optional<String> refuse(UnixSockets.Credentials peer) {
        boolean allowed = peer.user() == ROOT
                || peer.user() == NativeThread.effectiveUser()
                || peer.user() == user
                || (mode & OTHERS_WRITE) != 0
                || ((mode & GROUP_WRITES) != 0 && peer.groups().contains(group));
        return allowed
                ? Optional.empty()
                : Optional.of(
                        ("process %d of user %d (groups %s) may not hand memory over: the socket is of user %d, group"
                                        + " %d, mode %04o; attach with --socket-owner or --socket-mode")
                                .formatted(peer.pid(), peer.user(), new TreeSet<>(peer.groups()), user, group, mode));
    }
}
