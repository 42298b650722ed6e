package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.Torn;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Records which nodes work with which spaces. A node that knows where pages live may write to them at any moment without asking the coordinator. So
 * the frames of a space are given to another space only after every attached node has detached or has been cut off by the homes. Thread-safe.
 */
public final class Attachments {

    private final Ledger ledger;
    private final Time time;

    /** Works on a ledger. */
    public Attachments(Ledger ledger, Time time) {
        this.ledger = ledger;
        this.time = time;
    }

    static String key(Space space, String node) {
        return State.idKey(space.id()) + "/" + node;
    }

    static List<Attachment> of(Draft draft, Space space) {
        return List.copyOf(draft.attachments.under(State.idKey(space.id()) + "/"));
    }

    /** The nodes that work with a space. */
    public List<Attachment> of(String idOrName) {
        Draft view = new Draft(ledger.state());
        return of(view, Spaces.require(ledger.state(), idOrName));
    }

    /** Attaches a node, or confirms that it is attached. An exclusive attachment never becomes a shared one: the node detaches first. */
    public Attachment attach(String idOrName, String node, AttachRequest request) {
        return ledger.change(draft -> {
            draft.requireNode(node, request.incarnation());
            Space space = Spaces.require(ledger.state(), idOrName);
            if (space.deleting()) {
                throw ProblemException.notFound("space '%s' is being deleted".formatted(space.name()));
            }
            Optional<Attachment> own = Optional.empty();
            for (Attachment other : of(draft, space)) {
                if (other.node().equals(node) && other.incarnation().equals(request.incarnation())) {
                    own = Optional.of(other);
                } else {
                    checkBeside(draft, space, other, node, request);
                }
            }
            if (space.encryption().isPresent() && request.mode() == AttachMode.SHARED) {
                throw ProblemException.conflict(
                        "encrypted",
                        "space '%s' (id %d) is encrypted: its pages can be read and written only through the guest that has it for memory; attach a guest"
                                .formatted(space.name(), space.id()));
            }
            boolean wasAlone = own.filter(a -> a.mode() == AttachMode.EXCLUSIVE).isPresent();
            if (wasAlone && request.mode() == AttachMode.SHARED) {
                throw ProblemException.conflict(
                        "attached",
                        "space '%s' (id %d) is attached exclusively by node '%s' itself, and a shared attachment would end that; detach it first"
                                .formatted(space.name(), space.id(), node));
            }
            if (!wasAlone && request.mode() == AttachMode.EXCLUSIVE) {
                checkWhole(draft, space, request.force().orElse(false));
            }
            Attachment attachment = new Attachment(space.id(), node, request.incarnation(), request.mode());
            Bounds.checkAttachment(draft, draft.attachments.find(key(space, node)));
            draft.attachments.put(key(space, node), attachment);
            return attachment;
        });
    }

    /** Refuses an attachment that another one excludes. An attachment that is being fenced excludes its own node, too. */
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
                    "space '%s' was attached %s by incarnation %s of node '%s', which %s must cut off first; try again when they have, or remove a home that is dead"
                            .formatted(
                                    space.name(),
                                    other.mode(),
                                    other.incarnation(),
                                    other.node(),
                                    Fences.names(awaited)));
        }
        throw ProblemException.conflict(
                "attached",
                "space '%s' is attached %s by node '%s'; detach it there first"
                        .formatted(space.name(), other.mode(), other.node()));
    }

    private static void checkWhole(Draft draft, Space space, boolean force) {
        if (space.torn().isEmpty()) {
            return;
        }
        if (!force) {
            Torn torn = space.torn().get();
            throw ProblemException.conflict(
                    "space-torn",
                    "space '%s' holds older and newer pages since %s: %s; load a saved image into it, or delete it, or attach it with force to use it as it is"
                            .formatted(space.name(), torn.at(), torn.reason()));
        }
        draft.spaces.put(State.idKey(space.id()), space.withTorn(Optional.empty()));
        draft.emit(EventKind.SPACE_TORN, Optional.empty(), space);
    }

    /** As {@link #detach(String, String, Incarnation, Optional, Optional)}, of a space that is not encrypted. */
    public void detach(String idOrName, String node, Incarnation incarnation, Optional<String> torn) {
        detach(idOrName, node, incarnation, torn, Optional.empty());
    }

    /**
     * Detaches a node; nothing happens if it is not attached. Ends the deletion of the space if it was the last.
     *
     * @param torn why some pages of an exclusive attachment are not at their homes; empty if all are
     * @param seal the mark of the file in which the node has left the tags of an encrypted space; empty if the node left no newer one
     */
    public void detach(
            String idOrName, String node, Incarnation incarnation, Optional<String> torn, Optional<String> seal) {
        ledger.change(draft -> {
            draft.requireNode(node, incarnation);
            Optional<Space> known = ledger.state().space(idOrName);
            long id = known.map(Space::id).orElse(Space.idOf(idOrName).orElse(0));
            boolean lifted = Fences.lift(draft, id, node, incarnation);
            if (known.isEmpty()) {
                return lifted ? id : Spaces.require(ledger.state(), idOrName).id();
            }
            Space space = known.get();
            draft.attachments
                    .find(key(space, node))
                    .filter(attachment -> attachment.incarnation().equals(incarnation))
                    .ifPresent(attachment -> {
                        torn.ifPresent(reason -> tear(draft, attachment, reason));
                        seal.ifPresent(mark -> seal(draft, attachment, mark));
                        draft.attachments.remove(key(space, node));
                        Spaces.finishDeletion(draft, space);
                    });
            return id;
        });
    }

    /** The tags of an encrypted space are in another file from now on. */
    private static void seal(Draft draft, Attachment attachment, String mark) {
        String key = State.idKey(attachment.space());
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

    /** Marks the space of an exclusive attachment as torn, unless it is torn already. */
    private void tear(Draft draft, Attachment attachment, String reason) {
        if (attachment.mode() == AttachMode.EXCLUSIVE) {
            String key = State.idKey(attachment.space());
            draft.spaces.find(key).filter(space -> space.torn().isEmpty()).ifPresent(space -> {
                draft.spaces.put(key, space.withTorn(Optional.of(new Torn(reason, time.now()))));
                draft.emit(EventKind.SPACE_TORN, Optional.empty(), space);
            });
        }
    }

    /**
     * An incarnation has ended without detaching from its spaces. It may have WRITEs under way, so the homes cut it off before its attachments end.
     * Pages that its guests had changed are lost, so the spaces that it had attached exclusively are torn.
     */
    void depart(Draft draft, Node node, String how) {
        for (Space space : draft.spaces.values()) {
            draft.attachments
                    .find(key(space, node.id()))
                    .filter(attachment -> attachment.incarnation().equals(node.incarnation()))
                    .ifPresent(attachment -> {
                        tear(draft, attachment, "node '%s' %s while a guest used the space".formatted(node.id(), how));
                        draft.spaces
                                .find(State.idKey(space.id()))
                                .ifPresent(now -> Fences.begin(draft, now, attachment));
                    });
        }
    }

    /** The lease of a node ran out: homes cut it off from the spaces that are deleted under its guests. */
    static void failed(Draft draft, Node node) {
        for (Space space : draft.spaces.values()) {
            if (space.deleting()) {
                draft.attachments
                        .find(key(space, node.id()))
                        .filter(attachment -> attachment.mode() == AttachMode.EXCLUSIVE)
                        .ifPresent(attachment -> Fences.begin(draft, space, attachment));
            }
        }
    }

    /**
     * Begins a deletion and tells the attached nodes to detach; the deletion ends when no node is attached. Without force it is refused while a node is
     * attached exclusively. With force that node cuts its guest off from the homes and then detaches; a node that has failed is cut off by
     * the homes.
     */
    static void beginDeletion(Draft draft, Space space, boolean force) {
        List<Attachment> attached = of(draft, space);
        String alone = attached.stream()
                .filter(a -> a.mode() == AttachMode.EXCLUSIVE)
                .filter(a -> Fences.awaited(draft, space, a).isEmpty())
                .map(Attachment::node)
                .collect(Collectors.joining(", "));
        if (!force && !alone.isEmpty()) {
            throw ProblemException.conflict(
                    "attached",
                    "space '%s' is attached exclusively by %s; detach it there first, or say force=true: a guest that runs on it loses its memory"
                            .formatted(space.name(), alone));
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
