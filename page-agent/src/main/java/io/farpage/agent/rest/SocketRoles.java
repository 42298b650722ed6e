package io.farpage.agent.rest;

import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.linux.NativeThread;
import io.farpage.linux.UserGroups;
import io.farpage.rest.SocketPeer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The roles of the users that connect to the agent's Unix socket. Root and the agent's own user are admins. Other users
 * have the role that the configuration gives to them or to one of their groups, the highest of several. Immutable.
 */
public final class SocketRoles implements SocketPeer.Identities {
    private static final String PROOF = "unix socket";
    private static final UserPrincipalLookupService KNOWN =
            Path.of("/").getFileSystem().getUserPrincipalLookupService();

    private final List<UserPrincipal> admins;
    private final List<UserRole> users;
    private final List<GroupRole> groups;

    private record UserRole(UserPrincipal user, Role role) {}

    private record GroupRole(GroupPrincipal group, Role role) {}

    private SocketRoles(List<UserPrincipal> admins, List<UserRole> users, List<GroupRole> groups) {
        this.admins = List.copyOf(admins);
        this.users = List.copyOf(users);
        this.groups = List.copyOf(groups);
    }

    /**
     * Looks the users and groups up.
     *
     * @param key that configures the roles, for messages
     * @param roles each {@code USER=ROLE} or {@code :GROUP=ROLE}, by name or number
     * @throws IllegalArgumentException if this host does not know one of them
     */
    public static SocketRoles of(String key, List<String> roles) {
        List<UserRole> users = new ArrayList<>();
        List<GroupRole> groups = new ArrayList<>();
        for (String text : roles) {
            int equals = text.indexOf('=');
            String name = text.substring(0, equals);
            Role role = Role.parse(text.substring(equals + 1));
            try {
                if (name.startsWith(":")) {
                    groups.add(new GroupRole(KNOWN.lookupPrincipalByGroupName(name.substring(1)), role));
                } else {
                    users.add(new UserRole(KNOWN.lookupPrincipalByName(name), role));
                }
            } catch (IOException e) {
                throw new IllegalArgumentException(
                        "%s: '%s' names a user or group that this host does not know".formatted(key, text), e);
            }
        }
        try {
            return new SocketRoles(
                    List.of(
                            KNOWN.lookupPrincipalByName("0"),
                            KNOWN.lookupPrincipalByName(Integer.toString(NativeThread.effectiveUser()))),
                    users,
                    groups);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Identity of(SocketPeer peer) {
        String name = peer.user().getName();
        return role(peer)
                .<Identity>map(role -> new Identity.Principal(name, role, PROOF))
                .orElseGet(() -> new Identity.Stranger(
                        "user '%s' has no role on this socket; api.socket_roles gives one, such as %s=viewer"
                                .formatted(name, name)));
    }

    private Optional<Role> role(SocketPeer peer) {
        if (admins.contains(peer.user())) {
            return Optional.of(Role.ADMIN);
        }
        List<Role> roles = new ArrayList<>();
        users.stream()
                .filter(one -> one.user().equals(peer.user()))
                .map(UserRole::role)
                .forEach(roles::add);
        if (!groups.isEmpty()) {
            Set<GroupPrincipal> all = groupsOf(peer);
            groups.stream()
                    .filter(one -> all.contains(one.group()))
                    .map(GroupRole::role)
                    .forEach(roles::add);
        }
        return roles.stream().min(Comparator.naturalOrder());
    }

    private static Set<GroupPrincipal> groupsOf(SocketPeer peer) {
        Set<GroupPrincipal> all = new HashSet<>(Set.of(peer.group()));
        for (int group : UserGroups.of(peer.user().getName())) {
            try {
                all.add(KNOWN.lookupPrincipalByGroupName(Integer.toUnsignedString(group)));
            } catch (IOException e) {
                throw new UncheckedIOException("group " + group + " of user " + peer.user(), e);
            }
        }
        return all;
    }
}
