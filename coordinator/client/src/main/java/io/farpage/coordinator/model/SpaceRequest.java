package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A space to be made, the body of {@code POST /spaces}.
 *
 * @param name unique; as a node id, and not all digits
 * @param sizeBytes a multiple of the page size, up to 2⁴⁸
 * @param pageSize 4096 (when left out) or 2097152
 * @param homes the nodes to take memory from; when left out, all active nodes, the one with most free memory first;
 *     of a thin space, left out
 * @param keyId the id of the key that agents seal its pages with, 16 hex digits; when left out, its homes can read them
 * @param nodes the nodes that may attach it; when left out, all may
 * @param replicas how many homes each extent is given, 1 (when left out) to 3, in as many failure domains
 * @param thin whether room is taken when pages are written first, a 64th of the space at a time, and given back when
 *     all pages of such a part are zeros; false when left out: all room is taken at once
 * @param loading whether it becomes a snapshot when the node that attaches it alone has loaded all pages, and is
 *     deleted when that fails; false when left out
 * @param vmmState how long the state file of a VMM is that is loaded, and with which snapshot it goes; left out for the
 *     memory of a machine
 * @param coherent whether several nodes use it at once, each as a {@link AttachMode#MEMBER member}; false when left
 *     out. Such a space has pages of 4 KiB and one home for each, and is neither thin nor encrypted nor loaded
 */
public record SpaceRequest(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        OptionalInt pageSize,
        Optional<List<String>> homes,
        Optional<String> keyId,
        Optional<List<String>> nodes,
        OptionalInt replicas,
        Optional<Boolean> thin,
        Optional<Boolean> loading,
        Optional<VmmState> vmmState,
        Optional<Boolean> coherent) {

    /** The most bytes of a coherent space: its home goes through all of its pages when a member begins or ends. */
    public static final long MOST_COHERENT_BYTES = 64L << 30;

    /** The most homes of an extent. */
    public static final int MAX_REPLICAS = 3;

    private static final int PAGE = 4096;

    /** Checks the fields. */
    public SpaceRequest {
        Check.spaceName("name", name);
        pageSize = OptionalInt.of(pageSize.orElse(PAGE));
        Check.pageSize("pageSize", pageSize.getAsInt());
        Check.range("sizeBytes", sizeBytes, pageSize.getAsInt(), 1L << 48);
        if (sizeBytes % pageSize.getAsInt() != 0) {
            throw new IllegalArgumentException(
                    "sizeBytes: %d is not a multiple of the page size %d".formatted(sizeBytes, pageSize.getAsInt()));
        }
        homes = homes.map(list -> list.stream().distinct().map(Node::checkId).toList());
        if (homes.filter(List::isEmpty).isPresent()) {
            throw new IllegalArgumentException("homes: an empty list; leave it out to let the coordinator choose");
        }
        keyId.ifPresent(id -> Encryption.checkKeyId("keyId", id));
        nodes = nodes.map(Space::checkNodes);
        Check.range("replicas", replicas.orElse(1), 1, MAX_REPLICAS);
        thin = thin.filter(Boolean::booleanValue);
        if (thin.isPresent() && keyId.isPresent()) {
            throw new IllegalArgumentException(
                    "keyId: %s, but a thin space cannot be encrypted; leave thin or the key out"
                            .formatted(keyId.get()));
        }
        if (thin.isPresent() && homes.isPresent()) {
            throw new IllegalArgumentException(
                    "homes: %s, but the homes of a thin space are chosen when its pages are written; leave homes out"
                            .formatted(homes.get()));
        }
        loading = loading.filter(Boolean::booleanValue);
        if (loading.isPresent() && (thin.isPresent() || keyId.isPresent())) {
            throw new IllegalArgumentException(
                    "loading: true, but a snapshot that is loaded is neither thin nor encrypted; leave thin and the key"
                            + " out");
        }
        if (vmmState.isPresent()) {
            checkVmmState(vmmState.get(), loading.isPresent(), sizeBytes, pageSize.getAsInt());
        }
        coherent = coherent.filter(Boolean::booleanValue);
        if (coherent.isPresent()) {
            checkCoherent(pageSize.getAsInt() == PAGE, "pageSize", pageSize.getAsInt(), "has pages of 4096 bytes");
            checkCoherent(sizeBytes <= MOST_COHERENT_BYTES, "sizeBytes", sizeBytes, "has at most 64 GiB");
            checkCoherent(
                    replicas.orElse(1) <= Space.MOST_COHERENT_HOMES,
                    "replicas",
                    replicas.orElse(1),
                    "has at most two homes for each page");
            checkCoherent(keyId.isEmpty(), "keyId", keyId.orElse(""), "cannot be encrypted");
            checkCoherent(thin.isEmpty(), "thin", true, "cannot be thin");
            checkCoherent(loading.isEmpty(), "loading", true, "is not loaded");
        }
    }

    private static void checkCoherent(boolean isAllowed, String field, Object value, String why) {
        if (!isAllowed) {
            throw new IllegalArgumentException(
                    "%s: %s, but a coherent space %s; leave %s or coherent out".formatted(field, value, why, field));
        }
    }

    private static void checkVmmState(VmmState file, boolean isLoading, long sizeBytes, int pageSize) {
        if (!isLoading) {
            throw new IllegalArgumentException("vmmState: a space for such a file is loaded; say loading: true");
        }
        if (sizeBytes != file.spaceBytes(pageSize)) {
            throw new IllegalArgumentException("sizeBytes: %d, but a file of %d bytes takes %d in pages of %d"
                    .formatted(sizeBytes, file.bytes(), file.spaceBytes(pageSize), pageSize));
        }
    }

    /** A space that is not encrypted and that all nodes may attach. */
    public SpaceRequest(String name, long sizeBytes, OptionalInt pageSize, Optional<List<String>> homes) {
        this(name, sizeBytes, pageSize, homes, Optional.empty(), Optional.empty(), OptionalInt.empty());
    }

    /** A space that takes all its room at once. */
    public SpaceRequest(
            String name,
            long sizeBytes,
            OptionalInt pageSize,
            Optional<List<String>> homes,
            Optional<String> keyId,
            Optional<List<String>> nodes,
            OptionalInt replicas) {
        this(
                name,
                sizeBytes,
                pageSize,
                homes,
                keyId,
                nodes,
                replicas,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** The same, with {@code count} homes for each extent. */
    public SpaceRequest withReplicas(int count) {
        return new SpaceRequest(
                name,
                sizeBytes,
                pageSize,
                homes,
                keyId,
                nodes,
                OptionalInt.of(count),
                thin,
                loading,
                vmmState,
                coherent);
    }

    /** The same, which takes room when pages are written first. */
    public SpaceRequest asThin() {
        return new SpaceRequest(
                name,
                sizeBytes,
                pageSize,
                homes,
                keyId,
                nodes,
                replicas,
                Optional.of(true),
                loading,
                vmmState,
                coherent);
    }

    /** The same, which is a snapshot once it is loaded: of the memory of a machine, or the state file of its VMM. */
    public SpaceRequest asLoading(Optional<VmmState> file) {
        return new SpaceRequest(
                name, sizeBytes, pageSize, homes, keyId, nodes, replicas, thin, Optional.of(true), file, coherent);
    }

    /** The same, which several nodes use at once. */
    public SpaceRequest asCoherent() {
        return new SpaceRequest(
                name, sizeBytes, pageSize, homes, keyId, nodes, replicas, thin, loading, vmmState, Optional.of(true));
    }

    /** Whether several nodes use it at once. */
    public boolean isCoherent() {
        return coherent.isPresent();
    }

    /** Whether it becomes a snapshot when it is loaded. */
    public boolean isLoading() {
        return loading.isPresent();
    }

    /** Whether room is taken when pages are written first. */
    public boolean isThin() {
        return thin.isPresent();
    }

    /** A space of 4 KiB pages wherever there is room. */
    public static SpaceRequest of(String name, long sizeBytes) {
        return new SpaceRequest(name, sizeBytes, OptionalInt.empty(), Optional.empty());
    }
}
