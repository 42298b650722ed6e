package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.Torn;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Records which nodes work with which spaces. A node that knows where pages live may write to them at any moment
 * without asking the coordinator. So the frames of a space are given to another space only after every attached node
 * has detached or has been cut off by the homes. Thread-safe.
 */
public final class Attachments {

    private final Ledger ledger;
    private final Time time;

    /** Works on a ledger. */
    public Attachments(Ledger ledger, Time time) {
        this.ledger = ledger;
        this.time = time;
    }

    /** For an attachment that this change makes, and tells its homes of. Events are numbered, also after a rebuild. */
    static long newId(Draft draft) {
        return draft.index() + 1;
    }

    /** Ends an attachment, and tells the homes of the space, which revoke the node's access. */
    static void remove(Draft draft, Space space, String node) {
        if (draft.attachments.remove(Keys.attachment(space.id(), node))) {
            changed(draft, space);
            Drops.writerGone(draft, space);
            Fences.endWithoutFailed(draft);
        }
    }

    /**
     * Ends the attachment of a node that uses the space no longer, and the deletion of the space if it was the last. A
     * space that the node was loading, and has not, is deleted.
     */
    static void leave(Draft draft, Space space, Attachment attachment) {
        remove(draft, space, attachment.node());
        draft.spaces
                .find(Keys.id(space.id()))
                .filter(now -> now.isLoading() && !now.deleting() && attachment.mode() == AttachMode.EXCLUSIVE)
                .ifPresent(now -> beginDeletion(draft, now, false));
        Deletion.finish(draft, space);
    }

    private static void changed(Draft draft, Space space) {
        draft.extents.homes(space).forEach(home -> draft.emit(EventKind.ATTACHMENTS_CHANGED, Optional.of(home), space));
    }

    /** The nodes that work with a space. */
    public List<Attachment> of(String idOrName) {
        Draft view = new Draft(ledger.state());
        return view.attachedTo(view.requireSpace(idOrName));
    }

    /**
     * Attaches a node, or confirms that it is attached. An exclusive attachment never becomes a shared one: the node
     * detaches first. A request that takes over has the homes cut off the nodes that exclude it and have failed; it is
     * refused as {@code fencing} until the homes have done that.
     */
    public Attachment attach(String idOrName, String node, AttachRequest request) {
        if (request.takeover().orElse(false)) {
            takeOver(idOrName, node, request);
        }
        return ledger.change(draft -> attach(draft, requireKept(draft, idOrName), node, request));
    }

    /**
     * Makes a clone of a snapshot and attaches a node to it, or does neither. Once it is made, the same request is
     * refused as {@code name-taken}.
     */
    public Attachment attachClone(String snapshot, CloneRequest clone, String node, AttachRequest request) {
        return ledger.change(draft -> {
            Space of = draft.requireSpace(snapshot);
            Space made = Snapshots.cloneOf(draft, of, clone, Optional.empty(), time.now());
            return attach(draft, made, node, request);
        });
    }

    private Attachment attach(Draft draft, Space of, String node, AttachRequest request) {
        draft.requireNode(node, request.incarnation());
        Space space = Snapshots.prepare(draft, of, request);
        checkUnderstood(space, node, request);
        Snapshots.checkAttach(space, request);
        Coherence.checkAttach(space, request);
        Fences.checkNotCutOff(draft, space, node, request.incarnation());
        if (request.adopts().isPresent()) {
            return Succession.adopted(draft, space, node, request);
        }
        Optional<Attachment> own = draft.attachments
                .find(Keys.attachment(space.id(), node))
                .filter(a -> a.incarnation().equals(request.incarnation()));
        if (own.filter(a -> a.mode() == request.mode()).isEmpty()) {
            checkAllowed(draft, space, node);
        }
        for (Attachment other : draft.attachedTo(space)) {
            if (!own.equals(Optional.of(other))) {
                checkBeside(draft, space, other, node, request);
            }
        }
        Coherence.checkMembers(draft, space, node);
        if (space.encryption().isPresent() && request.mode() == AttachMode.SHARED) {
            throw ProblemException.conflict(
                    "encrypted",
                    ("space '%s' (id %d) is encrypted: its pages can be read and written only through the guest"
                                    + " that has it for memory; attach a guest")
                            .formatted(space.name(), space.id()));
        }
        boolean hadGuest = own.filter(a -> a.mode().hasGuest()).isPresent();
        boolean wasAlone = own.filter(a -> a.mode() == AttachMode.EXCLUSIVE).isPresent();
        if (wasAlone && request.mode() == AttachMode.SHARED) {
            throw ProblemException.conflict(
                    "attached",
                    ("space '%s' (id %d) is attached exclusively by node '%s' itself, and a shared attachment would"
                                    + " end that; detach it first")
                            .formatted(space.name(), space.id(), node));
        }
        if (!hadGuest && request.mode().hasGuest()) {
            checkWhole(draft, space, request.force().orElse(false));
        }
        long id = own.map(Attachment::id).orElseGet(() -> newId(draft));
        Attachment attachment = new Attachment(space.id(), node, request.incarnation(), request.mode(), id)
                .withPresence(wasAlone ? own.orElseThrow().presence() : markFor(request, space));
        Bounds.checkAttachment(draft, draft.attachments.find(Keys.attachment(space.id(), node)));
        // What joins is dropped; its frames are zeroed once the node that pulls writes to them no longer.
        Drops.writerGone(draft, space);
        Optional<Attachment> before = draft.attachments.find(Keys.attachment(space.id(), node));
        if (before.filter(attachment::equals).isEmpty()) {
            draft.attachments.put(Keys.attachment(space.id(), node), attachment);
        }
        if (before.filter(a -> a.incarnation().equals(request.incarnation())).isEmpty()) {
            changed(draft, space);
        }
        if (request.mayWrite()) {
            endPresence(draft, space);
        }
        return attachment;
    }

    /** A node may write to the space from now on: its presence map may be wrong. */
    private static void endPresence(Draft draft, Space space) {
        String key = Keys.id(space.id());
        draft.spaces
                .find(key)
                .filter(now -> mark(now).isPresent())
                .ifPresent(now -> draft.spaces.put(key, now.withoutMark()));
    }

    /** A mark is told to a node that excludes others from writing. */
    private static Optional<String> markFor(AttachRequest request, Space space) {
        return request.mode() == AttachMode.EXCLUSIVE ? mark(space) : Optional.empty();
    }

    private static Optional<String> mark(Space space) {
        return space.presence().flatMap(Presence::mark);
    }

    /**
     * Makes the homes cut off the failed nodes that an exclusive attachment would have to wait for, or the failed
     * members of a coherent space. Changes of its own, kept whatever becomes of the attachment: once a home has begun
     * to cut a node off, that node cannot go on.
     */
    private void takeOver(String idOrName, String node, AttachRequest request) {
        if (!request.mode().hasGuest() || request.adopts().isPresent()) {
            throw ProblemException.invalid(
                    "takeover: only an attachment for a new guest takes a space over, and not one that adopts a guest");
        }
        ledger.change(draft -> {
            draft.requireNode(node, request.incarnation());
            Space space = requireKept(draft, idOrName);
            checkUnderstood(space, node, request);
            Fences.checkNotCutOff(draft, space, node, request.incarnation());
            checkAllowed(draft, space, node);
            Coherence.checkAttach(space, request);
            List<Attachment> others = draft.attachedTo(space).stream()
                    .filter(other -> !other.node().equals(node))
                    .filter(other -> Fences.awaited(draft, space, other).isEmpty())
                    .filter(other -> !space.isCoherent() || draft.isFailed(other.node()))
                    .toList();
            others.forEach(other -> checkFailed(draft, space, other));
            for (Attachment other : others) {
                tear(
                        draft,
                        other,
                        "node '%s' took it over from node '%s', which had failed".formatted(node, other.node()));
                draft.emit(EventKind.SPACE_TAKEN_OVER, Optional.of(other.node()), Optional.of(node), space);
                Fences.begin(draft, draft.spaces.find(Keys.id(space.id())).orElseThrow(), other);
            }
            return others;
        });
    }

    /** A space that is not being deleted. */
    private static Space requireKept(Draft draft, String idOrName) {
        Space space = draft.requireSpace(idOrName);
        if (space.deleting()) {
            throw ProblemException.notFound("space '%s' is being deleted".formatted(space.name()));
        }
        return space;
    }

    private static void checkFailed(Draft draft, Space space, Attachment other) {
        if (draft.requireNode(other.node()).status() != NodeStatus.FAILED) {
            throw ProblemException.conflict(
                    "attached",
                    ("space '%s' is attached %s by node '%s', which renews its lease; end its guest and detach it"
                                    + " there, or stop its agent: a space is taken over only from a node that has"
                                    + " failed")
                            .formatted(space.name(), other.mode().adverb(), other.node()));
        }
    }

    /** Refuses an agent that would treat the pages of a space as those of a plain one. */
    private static void checkUnderstood(Space space, String node, AttachRequest request) {
        String missing = space.features().stream()
                .filter(feature -> !request.understands(feature))
                .map(Feature::word)
                .sorted()
                .collect(Collectors.joining(", "));
        if (!missing.isEmpty()) {
            throw ProblemException.conflict(
                    "not-understood",
                    ("space '%s' (id %d) has a feature that the agent of node '%s' does not understand: %s; update that"
                                    + " agent, or attach the space on another node")
                            .formatted(space.name(), space.id(), node, missing));
        }
    }

    /**
     * Refuses a node that is not on the list of a space, unless it becomes the home of a clone. A node that is attached
     * already may confirm that.
     */
    private static void checkAllowed(Draft draft, Space space, String node) {
        if (!space.mayAttach(node) && !Snapshots.isPulledBy(draft, space, node)) {
            String allowed = String.join(",", space.nodes().orElse(List.of()));
            throw new ProblemException(
                    403,
                    "node-not-allowed",
                    ("node '%s' may not attach space '%s' (id %d): its list of nodes is %s; an operator changes it:"
                                    + " coordinator space allow %s --nodes %s,%s")
                            .formatted(node, space.name(), space.id(), allowed, space.name(), allowed, node));
        }
    }

    /** Whether a node is attached to a space or has pages of it in its pool. */
    public boolean concerns(Space space, String node) {
        State state = ledger.state();
        return state.attachments().containsKey(Keys.attachment(space.id(), node))
                || state.extentsOf(space).stream()
                        .flatMap(Extent::places)
                        .anyMatch(home -> home.node().equals(node));
    }

    /**
     * Refuses an attachment that another one excludes. An attachment that is being fenced excludes its own node, too.
     */
    private static void checkBeside(Draft draft, Space space, Attachment other, String node, AttachRequest request) {
        boolean alone = other.mode() == AttachMode.EXCLUSIVE
                || request.mode() == AttachMode.EXCLUSIVE
                || other.node().equals(node);
        if (!alone) {
            return;
        }
        List<String> awaited = Fences.awaited(draft, space, other);
        if (!awaited.isEmpty()) {
            throw ProblemException.conflict(
                    "fencing",
                    ("space '%s' was attached %s by incarnation %s of node '%s', which %s must cut off first; try again"
                                    + " when they have, or when their leases have run out and other homes have the"
                                    + " pages")
                            .formatted(
                                    space.name(),
                                    other.mode().adverb(),
                                    other.incarnation(),
                                    other.node(),
                                    Fences.names(awaited)));
        }
        throw ProblemException.conflict(
                "attached",
                "space '%s' is attached %s by node '%s'; %s"
                        .formatted(
                                space.name(),
                                other.mode().adverb(),
                                other.node(),
                                other.mode().hasGuest()
                                        ? "detach it there first"
                                        : "that ends some seconds after the last page was read or written there"));
    }

    private static void checkWhole(Draft draft, Space space, boolean force) {
        if (space.torn().isEmpty()) {
            return;
        }
        if (!force) {
            Torn torn = space.torn().get();
            throw ProblemException.conflict(
                    "space-torn",
                    ("space '%s' holds older and newer pages since %s: %s; load a saved image into it, or delete it, or"
                                    + " attach it with force to use it as it is")
                            .formatted(space.name(), torn.at(), torn.reason()));
        }
        draft.spaces.put(Keys.id(space.id()), space.withTorn(Optional.empty()));
        draft.emit(EventKind.SPACE_TORN, Optional.empty(), space);
        if (!Coherence.isUsed(draft, space)) {
            Drops.keepOne(draft, space);
        }
    }

    /** Detaches a node; nothing happens if it is not attached. Ends the deletion of the space if it was the last. */
    public void detach(String idOrName, String node, Incarnation incarnation, Detachment how) {
        ledger.change(draft -> {
            draft.requireNode(node, incarnation);
            Optional<Space> known = draft.findSpace(idOrName);
            long id = known.map(Space::id).orElse(Space.idOf(idOrName).orElse(0));
            boolean lifted = Fences.lift(draft, id, node, incarnation);
            if (known.isEmpty()) {
                return lifted ? id : draft.requireSpace(idOrName).id();
            }
            Space space = known.get();
            draft.attachments
                    .find(Keys.attachment(space.id(), node))
                    .filter(attachment -> attachment.incarnation().equals(incarnation))
                    .ifPresent(attachment -> {
                        how.torn().ifPresent(reason -> tear(draft, attachment, reason));
                        how.seal().ifPresent(mark -> seal(draft, attachment, mark));
                        how.presence()
                                .filter(_ -> how.torn().isEmpty())
                                .ifPresent(mark -> leavePresence(draft, attachment, mark));
                        if (how.loaded() && how.torn().isEmpty()) {
                            loaded(draft, attachment);
                        }
                        leave(draft, space, attachment);
                    });
            return id;
        });
    }

    /** A node has written all pages of a space that was made to be loaded: the space becomes a snapshot. */
    private void loaded(Draft draft, Attachment attachment) {
        String key = Keys.id(attachment.space());
        draft.spaces
                .find(key)
                .filter(space -> space.isLoading() && !space.deleting() && attachment.mode() == AttachMode.EXCLUSIVE)
                .ifPresent(space -> {
                    Space made = space.withSnapshot(time.now());
                    draft.spaces.put(key, made);
                    draft.emit(EventKind.SNAPSHOT_MADE, Optional.empty(), made);
                });
    }

    /** The homes have a presence map of this mark, which is right as long as no node writes. */
    private static void leavePresence(Draft draft, Attachment attachment, String mark) {
        String key = Keys.id(attachment.space());
        draft.spaces
                .find(key)
                .filter(space -> attachment.mode() == AttachMode.EXCLUSIVE)
                .ifPresent(space -> draft.spaces.put(
                        key, space.withPresence(space.presence().map(map -> map.withMark(Optional.of(mark))))));
    }

    /** The tags of an encrypted space are in another file from now on. */
    private static void seal(Draft draft, Attachment attachment, String mark) {
        String key = Keys.id(attachment.space());
        draft.spaces
                .find(key)
                .filter(space -> attachment.mode() == AttachMode.EXCLUSIVE)
                .ifPresent(space -> space.encryption().ifPresent(known -> {
                    Encryption now =
                            new Encryption(known.keyId(), Optional.of(new Encryption.Sealed(mark, attachment.node())));
                    draft.spaces.put(key, space.withEncryption(Optional.of(now)));
                    draft.emit(EventKind.SPACE_SEALED, Optional.empty(), space);
                }));
    }

    /** Marks the space of an attachment with a guest as torn, unless it is torn already. */
    private void tear(Draft draft, Attachment attachment, String reason) {
        if (attachment.mode().hasGuest()) {
            String key = Keys.id(attachment.space());
            draft.spaces
                    .find(key)
                    .filter(space -> space.torn().isEmpty() && mayTear(draft, space))
                    .ifPresent(space -> {
                        draft.spaces.put(key, space.withTorn(Optional.of(new Torn(reason, time.now()))));
                        draft.emit(EventKind.SPACE_TORN, Optional.empty(), space);
                    });
        }
    }

    /** Whether pages of a guest may be at a home. */
    private static boolean mayTear(Draft draft, Space space) {
        return space.base().isEmpty() || draft.extents.of(space).stream().anyMatch(Extent::isAllocated);
    }

    /**
     * An incarnation has ended without detaching from its spaces. It may have WRITEs under way, so the homes cut it off
     * before its attachments end. Pages that its guests had changed are lost, so the spaces of these guests are
     * torn.
     */
    void depart(Draft draft, Node node, String how) {
        Succession.attachedBy(draft, node.id(), node.incarnation())
                .forEach(attachment -> depart(draft, attachment, how));
    }

    /** As {@link #depart(Draft, Node, String)}, of one attachment. */
    void depart(Draft draft, Attachment attachment, String how) {
        Space space = draft.spaces.find(Keys.id(attachment.space())).orElseThrow();
        Attachment ended = new Attachment(
                attachment.space(), attachment.node(), attachment.incarnation(), attachment.mode(), attachment.id());
        if (!ended.equals(attachment)) {
            draft.attachments.put(Keys.attachment(space.id(), ended.node()), ended);
        }
        tear(draft, ended, "node '%s' %s while a guest used the space".formatted(ended.node(), how));
        Fences.begin(draft, draft.spaces.find(Keys.id(space.id())).orElseThrow(), ended);
    }

    /** The lease of a node ran out: homes cut it off from the spaces that are deleted under its guests. */
    static void failed(Draft draft, Node node) {
        for (Space space : draft.spaces.values()) {
            if (space.deleting()) {
                draft.attachments
                        .find(Keys.attachment(space.id(), node.id()))
                        .filter(attachment -> attachment.mode().hasGuest())
                        .ifPresent(attachment -> Fences.begin(draft, space, attachment));
            }
        }
    }

    /**
     * Begins to delete a space, and the state of a VMM that belongs to it, and tells the attached nodes to detach; the
     * deletion ends when no node is attached. Without force it is refused while a node has a guest on it. With
     * force that node cuts its guest off from the homes and then detaches; a node that has failed is cut off by the
     * homes.
     */
    static void beginDeletion(Draft draft, Space space, boolean force) {
        draft.spaces.put(Keys.id(space.id()), space.withDeleting());
        if (!space.deleting() || force) {
            askToDetach(draft, space.withDeleting(), force);
        }
        List<Space> files = draft.spaces.values().stream()
                .filter(other -> other.vmmState()
                        .filter(file -> file.snapshot() == space.id())
                        .isPresent())
                .toList();
        for (Space file : files) {
            beginDeletion(draft, file, true);
            Deletion.finish(draft, file.withDeleting());
        }
    }

    private static void askToDetach(Draft draft, Space space, boolean force) {
        List<Attachment> attached = draft.attachedTo(space);
        List<Attachment> guests = attached.stream()
                .filter(a -> a.mode().hasGuest())
                .filter(a -> Fences.awaited(draft, space, a).isEmpty())
                .toList();
        if (!force && !guests.isEmpty()) {
            String names = guests.stream().map(Attachment::node).collect(Collectors.joining(", "));
            throw ProblemException.conflict(
                    "attached",
                    ("space '%s' is attached %s by %s; detach it there first, or say force=true: a guest that runs on"
                                    + " it loses its memory")
                            .formatted(space.name(), guests.getFirst().mode().adverb(), names));
        }
        draft.emit(EventKind.SPACE_DELETING, Optional.empty(), space);
        if (force) {
            attached.stream()
                    .filter(a -> draft.nodes
                            .find(a.node())
                            .filter(node -> node.status() == NodeStatus.FAILED)
                            .isPresent())
                    .forEach(a -> Fences.begin(draft, space, a));
        }
    }
}
