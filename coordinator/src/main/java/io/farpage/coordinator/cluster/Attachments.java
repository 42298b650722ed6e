package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Which nodes work with which spaces. A node that knows where pages live may write there at any moment without asking anybody, so the room of
 * a space must not be given to another before every such node has said that it is done. Thread-safe.
 */
public final class Attachments {

    private final Ledger ledger;

    /** Works on a ledger. */
    public Attachments(Ledger ledger) {
        this.ledger = ledger;
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

    /** Attaches a node, or confirms that it is attached. */
    public Attachment attach(String idOrName, String node, AttachRequest request) {
        return ledger.change(draft -> {
            draft.requireNode(node, request.incarnation());
            Space space = Spaces.require(ledger.state(), idOrName);
            if (space.deleting()) {
                throw ProblemException.notFound("space '%s' is being deleted".formatted(space.name()));
            }
            for (Attachment other : of(draft, space)) {
                boolean alone = other.mode() == AttachMode.EXCLUSIVE || request.mode() == AttachMode.EXCLUSIVE;
                if (alone && !other.node().equals(node)) {
                    throw ProblemException.conflict(
                            "attached",
                            "space '%s' is attached %s by node '%s'; detach it there first"
                                    .formatted(space.name(), other.mode(), other.node()));
                }
            }
            Attachment attachment = new Attachment(space.id(), node, request.incarnation(), request.mode());
            draft.attachments.put(key(space, node), attachment);
            return attachment;
        });
    }

    /** Detaches a node; nothing happens if it is not attached. Ends the deletion of the space if it was the last. */
    public void detach(String idOrName, String node, Incarnation incarnation) {
        ledger.change(draft -> {
            draft.requireNode(node, incarnation);
            Space space = Spaces.require(ledger.state(), idOrName);
            draft.attachments.remove(key(space, node));
            Spaces.finishDeletion(draft, space);
            return space;
        });
    }

    /** Detaches a node that is gone from all spaces: it can no longer write. */
    static void depart(Draft draft, Node node) {
        for (Space space : draft.spaces.values()) {
            if (draft.attachments.remove(key(space, node.id()))) {
                Spaces.finishDeletion(draft, space);
            }
        }
    }

    /** Begins a deletion: refuses it for the sake of who works alone, and tells the others to let go. */
    static void beginDeletion(Draft draft, Space space, boolean force) {
        List<Attachment> attached = of(draft, space);
        if (force) {
            attached.forEach(a -> draft.attachments.remove(key(space, a.node())));
            return;
        }
        String alone = attached.stream()
                .filter(a -> a.mode() == AttachMode.EXCLUSIVE)
                .map(Attachment::node)
                .collect(Collectors.joining(", "));
        if (!alone.isEmpty()) {
            throw ProblemException.conflict(
                    "attached",
                    "space '%s' is attached exclusively by %s; detach it there first, or say force=true if that node is dead for certain"
                            .formatted(space.name(), alone));
        }
        draft.tell(EventKind.SPACE_DELETING, Optional.empty(), Optional.empty(), Optional.of(space.name()));
    }
}
