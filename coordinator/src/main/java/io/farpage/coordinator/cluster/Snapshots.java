package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Creation;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.VmmState;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Snapshots, which are spaces that are read-only for good, and their clones. A clone is a row: its guest begins with
 * the pages of the snapshot, and a snapshot may be made of it again. When a node attaches it first it gets extents
 * without homes. An extent whose pages a node wants to write gets a home, which pulls the pages of the snapshot first.
 * Thread-safe.
 */
public final class Snapshots {
    /** Clones that a message names. */
    private static final int NAMED = 5;

    /** Snapshots that the pages of a clone may be in. */
    static final int MOST_LAYERS = 8;

    /** Guests' snapshots whose attempts are remembered. */
    private static final int REMEMBERED = 1024;

    private final Ledger ledger;
    private final Time time;
    /** The last attempt by key. Within a change of the ledger only. */
    private final Map<String, Integer> attempts = new LinkedHashMap<>();

    /** Works on a ledger. */
    public Snapshots(Ledger ledger, Time time) {
        this.ledger = ledger;
        this.time = time;
    }

    /**
     * Makes a snapshot of a space. Nothing happens if it is one.
     *
     * @throws ProblemException if a node uses the space, or its pages are not those of one moment, or cannot be read
     *     by the guest of a clone
     */
    public Space make(String idOrName) {
        return ledger.change(draft -> {
            Space space = draft.requireSpace(idOrName);
            if (space.snapshot().isPresent()) {
                return space;
            }
            if (space.deleting()) {
                throw ProblemException.notFound("space '%s' is being deleted".formatted(space.name()));
            }
            checkWhole(space);
            checkLayers(draft, space);
            checkUnused(draft.attachedTo(space), space);
            Space made = space.withSnapshot(time.now());
            draft.spaces.put(Keys.id(space.id()), made);
            draft.emit(EventKind.SNAPSHOT_MADE, Optional.empty(), made);
            return made;
        });
    }

    /**
     * Makes a snapshot of the pages that the homes of a space have while its guest runs. The snapshot, a new space, has
     * the homes from now on. The guest's space is a clone of it, without room. While the snapshot of an earlier request
     * with the same key exists, a repeat of that request changes nothing.
     *
     * @throws ProblemException also if a later attempt came before: the node has learned from that one's answer that
     *     there is no snapshot, and may write to the homes
     */
    public Space makeOfGuest(String idOrName, String node, SnapshotRequest request) {
        return ledger.change(draft -> {
            checkAttempt(request);
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            Creation creation = new Creation(
                    request.key(), Digest.of(Json.STRICT.writeValueAsBytes(List.of(space.id(), request.name()))));
            Optional<Space> earlier = Spaces.madeBefore(draft, creation);
            if (earlier.isPresent()) {
                return earlier.get();
            }
            checkHasPages(draft, space);
            checkWhole(space);
            checkLayers(draft, space);
            Spaces.checkName(draft, request.name());
            Bounds.checkNewSpace(draft, draft.extents.of(space).size());
            long id = draft.newId();
            Bounds.checkAllowed(draft, id, space.nodes().map(List::size).orElse(0));
            Bounds.checkAttachment(draft, Optional.empty());
            Space made = space.asSnapshot(id, request.name(), time.now(), request.presence())
                    .withCreation(Optional.of(creation));
            draft.spaces.put(Keys.id(id), made);
            draft.extents.change(space, Drops::endAll);
            draft.extents.handOver(space, made);
            draft.spaces.put(Keys.id(space.id()), space.withThin().withBase(id).withoutMark());
            draft.attachments.put(
                    Keys.attachment(id, node),
                    new Attachment(id, node, request.incarnation(), AttachMode.SHARED, Attachments.newId(draft)));
            draft.emit(EventKind.SPACE_CREATED, Optional.empty(), made);
            draft.emit(EventKind.SNAPSHOT_MADE, Optional.empty(), made);
            return made;
        });
    }

    private void checkAttempt(SnapshotRequest request) {
        int last = attempts.getOrDefault(request.key(), 0);
        if (request.attempt() < last) {
            throw ProblemException.conflict(
                    "late-attempt",
                    "attempt %d for snapshot '%s' came after attempt %d"
                            .formatted(request.attempt(), request.name(), last));
        }
        attempts.put(request.key(), request.attempt());
        if (attempts.size() > REMEMBERED) {
            attempts.remove(attempts.keySet().iterator().next());
        }
    }

    private static void checkHasPages(Draft draft, Space space) {
        if (space.deleting()) {
            throw ProblemException.notFound("space '%s' is being deleted".formatted(space.name()));
        }
        if (draft.extents.of(space).isEmpty()) {
            throw refused(space, "no-extents", "is a clone whose guest's pages are in its memory alone");
        }
    }

    private static void checkWhole(Space space) {
        Coherence.checkKept(space, "no snapshot is made of it");
        if (space.encryption().isPresent()) {
            throw refused(space, "encrypted", "is encrypted: only the agent of its guest can open its pages");
        }
        if (space.state() == ExtentState.LOST) {
            throw refused(space, "pages-lost", "has lost pages");
        }
        space.torn().ifPresent(torn -> {
            throw refused(space, "space-torn", "holds older and newer pages: " + torn.reason());
        });
    }

    /** Each snapshot below another one is attached by all readers. */
    private static void checkLayers(Draft draft, Space space) {
        int layers = layers(draft, space).size();
        if (layers > MOST_LAYERS) {
            throw refused(
                    space,
                    "chain-too-deep",
                    "is a clone over %d snapshots, one of the other, and %d are the most; save it, load it into a space"
                            .formatted(layers - 1, MOST_LAYERS - 1));
        }
    }

    /** A space, and the snapshots that its pages are in, each the base of the one before. */
    private static List<Space> layers(Draft draft, Space space) {
        return Stream.iterate(
                        Optional.of(space),
                        Optional::isPresent,
                        above -> above.flatMap(layer -> layer.base().stream()
                                .mapToObj(Keys::id)
                                .findFirst()
                                .flatMap(draft.spaces::find)))
                .flatMap(Optional::stream)
                .toList();
    }

    private static ProblemException refused(Space space, String word, String why) {
        return ProblemException.conflict(
                word, "space '%s' (id %d) %s; no snapshot is made of it".formatted(space.name(), space.id(), why));
    }

    /** No key with which pages could be written is left: each is revoked before its attachment ends, or with it. */
    private static void checkUnused(List<Attachment> attached, Space space) {
        if (!attached.isEmpty()) {
            throw refused(
                    space,
                    "attached",
                    "is attached by "
                            + attached.stream()
                                    .map(each -> "'%s' (%s)".formatted(each.node(), each.mode()))
                                    .collect(Collectors.joining(", "))
                            + "; end its guest, or wait some seconds after its last page was read or written; of a"
                            + " guest that runs: page-agent snapshot create");
        }
    }

    /**
     * Makes a clone of a snapshot. It takes no room. While the clone of an earlier request with the same key exists, a
     * repeat of that request changes nothing.
     *
     * @param key drawn by the client for this request; empty if the client does not repeat it
     */
    public Space makeClone(String snapshot, CloneRequest request, Optional<String> key) {
        return ledger.change(draft -> {
            Space of = draft.requireSpace(snapshot);
            Optional<Creation> creation = key.map(one ->
                    new Creation(one, Digest.of(Json.STRICT.writeValueAsBytes(List.of(of.id(), request)))));
            Optional<Space> earlier = creation.flatMap(now -> Spaces.madeBefore(draft, now));
            if (earlier.isPresent()) {
                return earlier.get();
            }
            return cloneOf(draft, of, request, creation, time.now());
        });
    }

    /** Makes a clone, as part of a change. */
    static Space cloneOf(Draft draft, Space of, CloneRequest request, Optional<Creation> creation, Instant now) {
        if (of.snapshot().isEmpty() || of.deleting()) {
            throw ProblemException.conflict(
                    "no-snapshot",
                    "space '%s' (id %d) %s; a clone is made of a snapshot: coordinator space snapshot %s"
                            .formatted(
                                    of.name(),
                                    of.id(),
                                    of.deleting() ? "is being deleted" : "is not a snapshot",
                                    of.name()));
        }
        Spaces.checkName(draft, request.name());
        Bounds.checkNewSpace(draft, 0);
        long id = draft.newId();
        Bounds.checkAllowed(draft, id, of.nodes().map(List::size).orElse(0));
        Space made = new Space(id, request.name(), of.sizeBytes(), of.pageSize(), ExtentState.OK, now, false)
                .withNodes(of.nodes())
                .withReplicas(of.copies())
                .withBase(of.id())
                .withCreation(creation);
        draft.spaces.put(Keys.id(id), made);
        draft.emit(EventKind.SPACE_CREATED, Optional.empty(), made);
        return made;
    }

    /** Refuses the state file of a VMM whose snapshot does not exist, or has one. */
    static void checkVmmState(Draft draft, VmmState file) {
        Space of = draft.requireSpace(Long.toString(file.snapshot()));
        if (of.deleting() || of.vmmState().isPresent() || (of.snapshot().isEmpty() && !of.isLoading())) {
            throw ProblemException.conflict(
                    "no-snapshot",
                    "space '%s' (id %d) is not the snapshot of a machine, so the state of no VMM is kept with it"
                            .formatted(of.name(), of.id()));
        }
        draft.spaces.values().stream()
                .filter(other -> other.vmmState()
                        .filter(known -> known.snapshot() == of.id())
                        .isPresent())
                .findFirst()
                .ifPresent(other -> {
                    throw ProblemException.conflict(
                            "has-state",
                            "snapshot '%s' (id %d) has the state of a VMM, in space '%s' (id %d); delete that first"
                                    .formatted(of.name(), of.id(), other.name(), other.id()));
                });
    }

    /** Refuses to delete a snapshot that has clones. */
    static void checkNoClones(Draft draft, Space space) {
        if (space.snapshot().isEmpty()) {
            return;
        }
        List<Space> clones = draft.spaces.values().stream()
                .filter(other -> other.base().isPresent() && other.base().getAsLong() == space.id())
                .toList();
        if (!clones.isEmpty()) {
            throw ProblemException.conflict(
                    "has-clones",
                    "snapshot '%s' (id %d) has %d clones, whose guests read its pages: %s%s; delete them first"
                            .formatted(
                                    space.name(),
                                    space.id(),
                                    clones.size(),
                                    clones.stream()
                                            .limit(NAMED)
                                            .map(Space::name)
                                            .collect(Collectors.joining(", ")),
                                    clones.size() > NAMED ? ", ..." : ""));
        }
    }

    /**
     * A clone that a node attaches, with extents, unless it is a snapshot itself, which has the pages of the one below.
     * An agent of an earlier build attaches it as it is, as long as it has none; so does any if there are as many
     * extents in the cluster as may be.
     */
    static Space prepare(Draft draft, Space space, AttachRequest request) {
        boolean needsExtents = space.base().isPresent() && space.snapshot().isEmpty() && !space.isThin();
        if (!needsExtents || !request.understands(Feature.CLONE_PAGES)) {
            return space;
        }
        List<Extent> extents = extents(draft, space);
        if (!Bounds.mayAddExtents(draft, extents.size())) {
            return space;
        }
        Space prepared = space.withThin().withPresence(Optional.of(presence(space)));
        draft.spaces.put(Keys.id(space.id()), prepared);
        draft.extents.create(prepared, extents);
        return prepared;
    }

    private static Presence presence(Space clone) {
        return Presence.of(clone.pages(), clone.pageSize()).withMark(Optional.empty());
    }

    /** Extents without room, each within one of each snapshot. */
    private static List<Extent> extents(Draft draft, Space clone) {
        List<Long> bounds = layers(draft, clone).stream()
                .flatMap(layer -> draft.extents.of(layer).stream())
                .map(Extent::firstPage)
                .toList();
        return Placement.unallocated(clone.pages(), presence(clone).pages(), Bounds.extentsOfThin(draft), bounds);
    }

    /**
     * Where the pages of an extent of a clone are that has no room: in the homes of an extent of a snapshot. Empty if
     * it has no such pages, or they are zeros.
     */
    static Optional<Extent> source(Draft draft, Space space, Extent extent) {
        return extent.firstPage() >= space.pages()
                ? Optional.empty()
                : layers(draft, space).stream()
                        .flatMap(layer -> draft.extents.of(layer).stream())
                        .filter(of -> of.contains(extent.firstPage()) && of.isAllocated())
                        .findFirst();
    }

    /** The extent whose homes a page is read from. */
    static Optional<Extent> reading(State state, Space space, long page) {
        Draft draft = new Draft(state);
        List<Extent> all = layers(draft, space).stream()
                .flatMap(layer -> draft.extents.of(layer).stream())
                .filter(of -> of.contains(page))
                .toList();
        return all.stream()
                .filter(Extent::isAllocated)
                .findFirst()
                .or(() -> all.stream().findFirst());
    }

    /** Whether a node pulls pages of a snapshot to be the home of a clone. */
    static boolean isPulledBy(Draft draft, Space snapshot, String node) {
        return snapshot.snapshot().isPresent()
                && draft.hostedBy(node).stream()
                        .filter(space -> layers(draft, space).contains(snapshot))
                        .flatMap(space -> draft.extents.of(space).stream())
                        .anyMatch(extent -> !extent.isAllocated()
                                && extent.joining()
                                        .filter(home -> home.node().equals(node))
                                        .isPresent());
    }

    /** Refuses an attachment that could write to a snapshot, or beside others to a clone, which may lack the room. */
    static void checkAttach(Space space, AttachRequest request) {
        if (space.snapshot().isPresent() && request.mayWrite()) {
            throw ProblemException.conflict(
                    "snapshot",
                    ("space '%s' (id %d) is a snapshot, which is read-only; attach a clone of it: coordinator space"
                                    + " clone %s --name NAME")
                            .formatted(space.name(), space.id(), space.name()));
        }
        if (space.base().isPresent() && request.mode() == AttachMode.SHARED && request.mayWrite()) {
            throw ProblemException.conflict(
                    "clone",
                    "space '%s' (id %d) is a clone, to which only its guest writes"
                            .formatted(space.name(), space.id()));
        }
    }
}
