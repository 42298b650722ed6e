package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * The guest-physical address space of one VM.
 *
 * @param id given by the coordinator, never used again
 * @param name given by its maker, unique among those that exist
 * @param sizeBytes a multiple of the page size
 * @param pageSize 4096 or 2097152
 * @param state ok, or lost once any of its extents is
 * @param createdAt when it was made
 * @param deleting whether it is removed once no node is attached to it
 * @param torn why it may hold a mix of older and newer pages, if it may
 * @param encryption how its pages are sealed; empty if their homes can read them
 * @param nodes the nodes that may attach it; empty if all may
 * @param replicas how many homes each of its extents was given; empty for one
 * @param creation the request that made it; empty if that had no Idempotency-Key
 * @param presence the map of the pages that its homes have; empty if it was made without one
 * @param snapshot since when it is read-only, which it stays; empty if it is not
 * @param base id of the snapshot that it is a clone of; empty if it has all pages itself
 * @param thin true if its extents get room when their pages are written first; empty if they had it from the start
 * @param loading true until the node that loads its pages detaches. If that node has written all pages, the space
 *     becomes a snapshot; otherwise the coordinator deletes it
 * @param vmmState of what its pages are, if they are not the memory of a machine
 * @param coherent true if several nodes use it at once, each as a {@link AttachMode#MEMBER member}; empty if one does
 */
public record Space(
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        @JsonProperty(required = true) int pageSize,
        @JsonProperty(required = true) ExtentState state,
        @JsonProperty(required = true) Instant createdAt,
        @JsonProperty(required = true) boolean deleting,
        Optional<Torn> torn,
        Optional<Encryption> encryption,
        Optional<List<String>> nodes,
        OptionalInt replicas,
        Optional<Creation> creation,
        Optional<Presence> presence,
        Optional<Instant> snapshot,
        OptionalLong base,
        Optional<Boolean> thin,
        Optional<Boolean> loading,
        Optional<VmmState> vmmState,
        Optional<Boolean> coherent) {

    /**
     * The word of the problem document, of status 404, for the id of a space that no longer exists.
     */
    public static final String DELETED = "space-deleted";

    /** The most homes of each page of a coherent space. */
    public static final int MOST_COHERENT_HOMES = 2;

    /** The most nodes that use a coherent space at once. */
    public static final int MOST_MEMBERS = 16;

    /** How many nodes one list may have. */
    static final int MAX_NODES = 1024;

    private static final Pattern ID = Pattern.compile("[0-9]{1,18}");

    /** The id that a text is, if it is one: names are never all digits. */
    public static OptionalLong idOf(String nameOrId) {
        return ID.matcher(nameOrId).matches() ? OptionalLong.of(Long.parseLong(nameOrId)) : OptionalLong.empty();
    }

    /** Copies the list of nodes. */
    public Space {
        nodes = nodes.map(List::copyOf);
    }

    /**
     * Checks a list of nodes that may attach a space, and drops repetitions.
     *
     * @throws IllegalArgumentException if the list is empty or too long, or an element is not a node id
     */
    static List<String> checkNodes(List<String> nodes) {
        List<String> distinct = nodes.stream().distinct().map(Node::checkId).toList();
        if (distinct.isEmpty()) {
            throw new IllegalArgumentException("nodes: an empty list; name a node, or leave it out to allow all");
        }
        Check.range("nodes: number of elements", distinct.size(), 1, MAX_NODES);
        return distinct;
    }

    /** A space that is whole and not encrypted, and that all nodes may attach. */
    public Space(
            long id,
            String name,
            long sizeBytes,
            int pageSize,
            ExtentState state,
            Instant createdAt,
            boolean deleting) {
        this(
                id,
                name,
                sizeBytes,
                pageSize,
                state,
                createdAt,
                deleting,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                OptionalLong.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** How many pages it has. */
    public long pages() {
        return sizeBytes / pageSize;
    }

    /** The same with another state. */
    public Space withState(ExtentState other) {
        return with(same -> same.state = other);
    }

    /** The same, about to go away. */
    public Space withDeleting() {
        return with(same -> same.deleting = true);
    }

    /** The same, torn or whole. */
    public Space withTorn(Optional<Torn> other) {
        return with(same -> same.torn = other);
    }

    /** The same, with other words on how its pages are sealed. */
    public Space withEncryption(Optional<Encryption> other) {
        return with(same -> same.encryption = other);
    }

    /** The same, for other nodes to attach. */
    public Space withNodes(Optional<List<String>> other) {
        return with(same -> same.nodes = other);
    }

    /** The same, with {@code count} homes for each extent. */
    public Space withReplicas(int count) {
        return with(same -> same.replicas = count == 1 ? OptionalInt.empty() : OptionalInt.of(count));
    }

    /** The same, made by another request. */
    public Space withCreation(Optional<Creation> other) {
        return with(same -> same.creation = other);
    }

    /** The same with another presence map. */
    public Space withPresence(Optional<Presence> other) {
        return with(same -> same.presence = other);
    }

    /** The same; its presence map may be wrong. */
    public Space withoutMark() {
        return withPresence(presence.map(map -> map.withMark(Optional.empty())));
    }

    /**
     * A snapshot with the pages that its homes have.
     *
     * @param mark of the map of these pages; empty if there is none
     */
    public Space asSnapshot(long otherId, String otherName, Instant since, Optional<String> mark) {
        return new Space(
                otherId,
                otherName,
                sizeBytes,
                pageSize,
                ExtentState.OK,
                since,
                false,
                Optional.empty(),
                Optional.empty(),
                nodes,
                replicas,
                Optional.empty(),
                presence.map(map -> map.withMark(mark)),
                Optional.of(since),
                base,
                thin,
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** The same, read-only from a time on. */
    public Space withSnapshot(Instant since) {
        return with(same -> {
            same.snapshot = Optional.of(since);
            same.loading = Optional.empty();
        });
    }

    /** The same, to be a snapshot once it is loaded. */
    public Space withLoading(Optional<VmmState> file) {
        return with(same -> {
            same.loading = Optional.of(true);
            same.vmmState = file;
        });
    }

    /** The same, with room that its extents get later. */
    public Space withThin() {
        return with(same -> same.thin = Optional.of(true));
    }

    /** The same, for several nodes at once. */
    public Space withCoherent() {
        return with(same -> same.coherent = Optional.of(true));
    }

    /** The same, as a clone of the snapshot with an id. */
    public Space withBase(long of) {
        return with(same -> same.base = OptionalLong.of(of));
    }

    private Space with(Consumer<Copy> change) {
        Copy copy = new Copy(this);
        change.accept(copy);
        return copy.space();
    }

    /** What may change of a space, to make another of it. */
    private static final class Copy {
        private final Space of;
        private ExtentState state;
        private boolean deleting;
        private Optional<Torn> torn;
        private Optional<Encryption> encryption;
        private Optional<List<String>> nodes;
        private OptionalInt replicas;
        private Optional<Creation> creation;
        private Optional<Presence> presence;
        private Optional<Instant> snapshot;
        private OptionalLong base;
        private Optional<Boolean> thin;
        private Optional<Boolean> loading;
        private Optional<VmmState> vmmState;
        private Optional<Boolean> coherent;

        Copy(Space of) {
            this.of = of;
            state = of.state;
            deleting = of.deleting;
            torn = of.torn;
            encryption = of.encryption;
            nodes = of.nodes;
            replicas = of.replicas;
            creation = of.creation;
            presence = of.presence;
            snapshot = of.snapshot;
            base = of.base;
            thin = of.thin;
            loading = of.loading;
            vmmState = of.vmmState;
            coherent = of.coherent;
        }

        Space space() {
            return new Space(
                    of.id,
                    of.name,
                    of.sizeBytes,
                    of.pageSize,
                    state,
                    of.createdAt,
                    deleting,
                    torn,
                    encryption,
                    nodes,
                    replicas,
                    creation,
                    presence,
                    snapshot,
                    base,
                    thin,
                    loading,
                    vmmState,
                    coherent);
        }
    }

    /** How many pages its extents have: its own, and those of its presence map. None of a clone without extents. */
    public long storedPages() {
        return base.isPresent() && !isThin()
                ? 0
                : pages() + presence.map(Presence::pages).orElse(0L);
    }

    /** How many homes each extent was given when the space was made. */
    public int copies() {
        return replicas.orElse(1);
    }

    /** Whether a node may attach it. */
    public boolean mayAttach(String node) {
        return nodes.map(allowed -> allowed.contains(node)).orElse(true);
    }

    /** Whether its extents get room when their pages are written first. */
    public boolean isThin() {
        return thin.orElse(false);
    }

    /** Whether several nodes use it at once, each as a member. */
    public boolean isCoherent() {
        return coherent.orElse(false);
    }

    /** Whether its pages are being loaded, or will be, before it becomes a snapshot. */
    public boolean isLoading() {
        return loading.orElse(false);
    }

    /** Bytes of what it holds: of a file, which may end within a page, or of the memory of a machine. */
    public long contentBytes() {
        return vmmState.map(VmmState::bytes).orElse(sizeBytes);
    }

    /** What an agent must understand to attach it. */
    public Set<Feature> features() {
        Set<Feature> features = EnumSet.noneOf(Feature.class);
        encryption.ifPresent(_ -> features.add(Feature.ENCRYPTION));
        if (copies() > 1) {
            features.add(Feature.REPLICAS);
        }
        presence.ifPresent(_ -> features.add(Feature.PRESENCE));
        if (snapshot.isPresent() || base.isPresent()) {
            features.add(Feature.CLONES);
        }
        if (isThin()) {
            features.add(Feature.THIN);
            base.ifPresent(_ -> features.add(Feature.CLONE_PAGES));
        }
        if (isCoherent()) {
            features.add(Feature.COHERENT);
        }
        return features;
    }

    /** All of it for people, a line for each fact. */
    public String describe() {
        List<String> lines = new ArrayList<>();
        lines.add("space %s (id %d): %d bytes in pages of %d, %s"
                .formatted(
                        name,
                        id,
                        sizeBytes,
                        pageSize,
                        deleting ? "being deleted" : state.name().toLowerCase(Locale.ROOT)));
        torn.ifPresent(since -> lines.add("  torn since %s: %s".formatted(since.at(), since.reason())));
        lines.add("  nodes that may attach it: "
                + nodes.map(allowed -> String.join(", ", allowed)).orElse("all"));
        if (copies() > 1) {
            lines.add("  homes of each extent: %d".formatted(copies()));
        }
        if (isThin() && base.isEmpty()) {
            lines.add("  thin: takes room when pages are written first");
        }
        if (isCoherent()) {
            lines.add("  coherent: up to %d nodes use it at once, each as a member".formatted(MOST_MEMBERS));
        }
        if (isLoading()) {
            lines.add("  is being loaded: a snapshot after that, or deleted if that fails");
        }
        vmmState.ifPresent(file -> lines.add(
                "  state of a VMM, %d bytes, with the snapshot of id %d".formatted(file.bytes(), file.snapshot())));
        snapshot.ifPresent(since -> lines.add("  snapshot since %s, read-only".formatted(since)));
        base.ifPresent(id -> lines.add(
                "  clone of the snapshot with id %d; takes room when changed pages are written".formatted(id)));
        presence.ifPresent(map -> lines.add("  presence map: %d pages, %s"
                .formatted(map.pages(), map.mark().isPresent() ? "up to date" : "not up to date")));
        lines.add(encryption.map(this::describe).orElse("  not encrypted"));
        return String.join(System.lineSeparator(), lines);
    }

    private String describe(Encryption sealing) {
        return "  encrypted with key " + sealing.keyId()
                + sealing.sealed()
                        .map(left -> "; its tags are in space-%d.seal of node %s, mark %s"
                                .formatted(id, left.node(), left.mark()))
                        .orElse("; no guest has used it yet");
    }
}
