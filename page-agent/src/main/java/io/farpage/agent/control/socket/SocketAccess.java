package io.farpage.agent.control.socket;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.Optional;

/**
 * The requested owner and permissions of a Unix socket.
 *
 * @param mode permissions of the socket, such as 0600
 * @param owner of the socket; the agent's user, if empty
 * @param group of the socket; the one that the file system gives it, if empty
 */
public record SocketAccess(int mode, Optional<UserPrincipal> owner, Optional<GroupPrincipal> group) {
    /**
     * Looks the owner up.
     *
     * @param key that configures it, for messages
     * @param owner USER, USER:GROUP or :GROUP, by name or number
     * @throws IllegalArgumentException if there is no such user or group
     */
    public static SocketAccess of(String key, int mode, Optional<String> owner) {
        if (owner.isEmpty()) {
            return new SocketAccess(mode, Optional.empty(), Optional.empty());
        }
        String text = owner.get();
        int colon = text.indexOf(':');
        String user = colon < 0 ? text : text.substring(0, colon);
        String group = colon < 0 ? "" : text.substring(colon + 1);
        if (user.isEmpty() && group.isEmpty()) {
            throw new IllegalArgumentException("%s: '%s' is not USER, USER:GROUP or :GROUP".formatted(key, text));
        }
        UserPrincipalLookupService known = Path.of("/").getFileSystem().getUserPrincipalLookupService();
        try {
            return new SocketAccess(
                    mode,
                    user.isEmpty() ? Optional.empty() : Optional.of(known.lookupPrincipalByName(user)),
                    group.isEmpty() ? Optional.empty() : Optional.of(known.lookupPrincipalByGroupName(group)));
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "%s: '%s' names a user or group that this host does not know".formatted(key, text), e);
        }
    }

    /**
     * Gives the socket at {@code path} its owner and group. Until then it is the agent's, so nothing connects in
     * between that may not.
     *
     * @throws IOException if this process may not, with the fix
     */
    public void own(Path path) throws IOException {
        PosixFileAttributeView file =
                Files.getFileAttributeView(path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
        try {
            if (group.isPresent()) {
                file.setGroup(group.get());
            }
            if (owner.isPresent()) {
                file.setOwner(owner.get());
            }
        } catch (FileSystemException e) {
            Files.deleteIfExists(path);
            throw new IOException(
                    "it cannot be given to %s: %s; run the agent with CAP_CHOWN, or in that group"
                            .formatted(describe(), e.getReason()),
                    e);
        }
    }

    private String describe() {
        return owner.map(UserPrincipal::getName).orElse("")
                + group.map(g -> ":" + g.getName()).orElse("");
    }
}
