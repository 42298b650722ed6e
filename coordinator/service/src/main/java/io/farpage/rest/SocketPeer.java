package io.farpage.rest;

import io.farpage.access.Identity;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.UserPrincipal;

/**
 * The process at the other end of a connection over a Unix socket, as the kernel tells it (SO_PEERCRED, unix(7)).
 *
 * @param user its effective user when it connected
 * @param group its effective group then
 */
public record SocketPeer(UserPrincipal user, GroupPrincipal group) {

    /** Gives the processes that connect to a Unix socket their identities. Called by any thread, for every request. */
    @FunctionalInterface
    public interface Identities {
        /** The identity of a process. A {@link Identity.Stranger} has none. */
        Identity of(SocketPeer peer);
    }

    /** The text that logs have instead of an address. */
    @Override
    public String toString() {
        return "unix socket, user " + user.getName();
    }
}
