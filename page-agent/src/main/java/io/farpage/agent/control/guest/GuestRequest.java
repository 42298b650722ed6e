package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.agent.control.socket.SocketAccess;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A guest to be served, the body of {@code PUT /spaces/{space}/guest}.
 *
 * @param socket path of the Unix socket on which the VMM hands its memory over; created
 * @param sizeBytes size of the space, if the request creates it
 * @param pageSize bytes of its pages, if the request creates it: 4096 (when left out) or 2097152
 * @param homes nodes whose pools hold its pages, if the request creates it; all nodes except this one, when left out
 * @param replicas homes of each page, 1 to 3, if the request creates the space; 1 when left out
 * @param localBytes how much of the guest may be resident; all of it, when left out
 * @param prefetchPages pages that one fetch may transfer, 1 to 64; 32 when left out
 * @param replay whether to prefetch what was resident when the space's last guest ended; true when left out
 * @param socketMode permissions of the socket in octal, such as 0660 for a VMM of another user in the socket's group;
 *     0600 when left out
 * @param socketOwner owner of the socket, as USER, USER:GROUP or :GROUP by name or number; the agent's user and group
 *     when left out
 * @param force whether to use a torn space, which holds older and newer pages, as it is, or an encrypted one with tags
 *     of an earlier moment; false when left out
 * @param takeover whether to take the space over from a node that has failed, whose homes cut it off first; false when
 *     left out
 * @param encrypted whether a space that the request creates is encrypted; if true, an existing space must be encrypted;
 *     false when left out
 * @param keyId the id of the key of an encrypted space that the request creates; the key for new spaces, when left out
 * @param thin whether a space that the request creates takes room when pages are written first; false when left out
 * @param reset whether to begin with zeros, whatever an encrypted space held; false when left out
 * @param cloneOf name or id of a snapshot: if there is no such space, it is made as a clone of that; an existing one
 *     must be such a clone; no clone when left out
 */
public record GuestRequest(
        @JsonProperty(required = true) String socket,
        OptionalLong sizeBytes,
        OptionalInt pageSize,
        Optional<List<String>> homes,
        OptionalInt replicas,
        OptionalLong localBytes,
        OptionalInt prefetchPages,
        Optional<Boolean> replay,
        Optional<String> socketMode,
        Optional<String> socketOwner,
        Optional<Boolean> force,
        Optional<Boolean> takeover,
        Optional<Boolean> encrypted,
        Optional<String> keyId,
        Optional<Boolean> thin,
        Optional<Boolean> reset,
        Optional<String> cloneOf) {

    private static final int DEFAULT_MODE = 0600;

    /** A guest of a space that exists, and nothing else that could be left out. */
    public static GuestRequest at(Path socket) {
        return new GuestRequest(
                socket.toString(),
                OptionalLong.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                OptionalLong.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** The same request, for a clone of a snapshot. */
    public GuestRequest withCloneOf(String snapshot) {
        return new GuestRequest(
                socket,
                sizeBytes,
                pageSize,
                homes,
                replicas,
                localBytes,
                prefetchPages,
                replay,
                socketMode,
                socketOwner,
                force,
                takeover,
                encrypted,
                keyId,
                thin,
                reset,
                Optional.of(snapshot));
    }

    /**
     * Refuses what a clone has from its snapshot.
     *
     * @throws IllegalArgumentException names it
     */
    void checkClone() {
        if (cloneOf.isPresent()) {
            refuse("sizeBytes", sizeBytes.isPresent());
            refuse("pageSize", pageSize.isPresent());
            refuse("homes", homes.isPresent());
            refuse("replicas", replicas.isPresent());
            refuse("encrypted", encrypted.orElse(false));
            refuse("keyId", keyId.isPresent());
            refuse("thin", thin.isPresent());
            refuse("reset", reset.orElse(false));
        }
    }

    private void refuse(String field, boolean isGiven) {
        if (isGiven) {
            throw new IllegalArgumentException("%s: a clone is as its snapshot '%s'; leave %s out, or cloneOf"
                    .formatted(field, cloneOf.orElseThrow(), field));
        }
    }

    /**
     * The users that may connect to the socket.
     *
     * @throws IllegalArgumentException if the mode is not valid permissions, or the owner is not known on this host
     */
    SocketAccess access() {
        String mode = socketMode.orElse(Integer.toString(DEFAULT_MODE, 8));
        if (!mode.matches("0?[0-7]{3}")) {
            throw new IllegalArgumentException(
                    "socketMode: '%s' is not three octal digits such as 0660".formatted(mode));
        }
        return SocketAccess.of("socketOwner", Integer.parseInt(mode, 8), socketOwner);
    }

    /** The socket's path. */
    Path path() {
        return Path.of(socket);
    }
}
