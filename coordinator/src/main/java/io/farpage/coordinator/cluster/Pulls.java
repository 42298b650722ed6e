package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How homes that join extents get the pages: they pull them from the other homes. While no node is attached to the
 * space, no agent writes them, and an attachment ends all pulls of its space in the change that records it, so no WRITE
 * is missed by a home that is promoted. The pages of a snapshot never change, so its pulls go on while nodes read it.
 * In any other space that has a node attached, a pull begins when that node notes the pages that it writes; it copies
 * these after the pull, and only then asks for the promotion.
 */
final class Pulls {

    private Pulls() {}

    /**
     * A home that joins an extent and may pull the pages.
     *
     * @param space id of the space
     * @param extent in the epoch of the pull
     * @param to the node that joins
     */
    record Pull(long space, ExtentEpoch extent, Node to) {}

    /** Whether no node can write to a space, or is being cut off from it. */
    static boolean isUnattended(Draft draft, Space space) {
        return !space.deleting() && draft.attachedTo(space).isEmpty();
    }

    /** Whether no node writes to a space: none can, or it is a snapshot, which is read. */
    static boolean isUnwritten(Draft draft, Space space) {
        return isUnattended(draft, space) || (space.snapshot().isPresent() && !space.deleting());
    }

    /** All pulls of a space that are under way. */
    static Stream<Pull> of(Draft draft, Space space) {
        return space.deleting()
                ? Stream.empty()
                : draft.extents.of(space).stream()
                        .filter(Pulls::isRunning)
                        .flatMap(extent -> of(draft, space, extent).stream());
    }

    private static boolean isRunning(Extent extent) {
        return extent.pull().filter(PullState.RUNNING::equals).isPresent();
    }

    /** Whether the home that joins an extent waits for the word of the attached node. */
    static boolean isAwaited(Extent extent) {
        return extent.pull().filter(PullState.AWAITED::equals).isPresent();
    }

    private static Optional<Pull> of(Draft draft, Space space, Extent extent) {
        return extent.joining()
                .filter(_ -> extent.state() == ExtentState.OK)
                .flatMap(home -> owner(draft, home))
                .map(node -> new Pull(space.id(), ExtentEpoch.of(extent), node));
    }

    /** Whether a home is one of those that a pull reads from. */
    static boolean readsFrom(Draft draft, Pull pull, String home) {
        return draft.extents.of(pull.space()).stream()
                .filter(extent -> ExtentEpoch.of(extent).equals(pull.extent()))
                .flatMap(extent -> extent.homes().stream())
                .anyMatch(place -> place.node().equals(home));
    }

    /** The node that has the pool of a home now. */
    private static Optional<Node> owner(Draft draft, ExtentHome home) {
        return draft.nodes.find(home.node()).filter(node -> node.poolId().equals(home.incarnation()));
    }

    /** The extents that the homes that join them may pull from now on, of those that the attached node names. */
    static Space allow(Draft draft, Space space, List<ExtentEpoch> named) {
        draft.extents.change(
                space, named, extent -> isAwaited(extent) ? List.of(new ExtentCommand.AllowPull()) : List.of());
        return space;
    }

    /** Whether some home of an extent lives, and so can grant reads to the one that joins. */
    static boolean hasSource(Draft draft, Extent extent) {
        return extent.homes().stream()
                .flatMap(home -> owner(draft, home).stream())
                .anyMatch(node -> node.status() != NodeStatus.FAILED);
    }

    /** Whether the node that pulls an extent can no longer do so, or is marked for draining itself. */
    static boolean isDead(Draft draft, ExtentHome joining) {
        return owner(draft, joining).filter(node -> draft.isUsable(node)).isEmpty();
    }

    /**
     * The incarnation of a node that pulls was replaced by one that has adopted its pool, and pulls anew: the homes
     * grant to that one.
     */
    static void adopted(Draft draft, Node now) {
        for (Space space : draft.hostedBy(now.id())) {
            if (of(draft, space).anyMatch(pull -> pull.to().id().equals(now.id()))) {
                draft.emit(EventKind.HOMES_CHANGED, Optional.of(now.id()), space);
            }
        }
    }

    /**
     * The extent that a node says it has pulled.
     *
     * @throws ProblemException if the space is being deleted, the extent is in another epoch, as after an attachment,
     *     or another home joins it
     */
    static Extent require(Draft draft, Space space, String node, Incarnation incarnation, ExtentEpoch named) {
        Node known = draft.requireNode(node, incarnation);
        if (space.deleting()) {
            throw ProblemException.conflict(
                    "no-such-home",
                    "node '%s' does not join space '%s' (id %d), which is being deleted"
                            .formatted(node, space.name(), space.id()));
        }
        Extent extent = draft.extents.require(space, named);
        if (isAwaited(extent)) {
            throw ProblemException.conflict(
                    "not-begun",
                    ("the pull of the extent at page %d of space '%s' has not begun: the node that writes the space has"
                                    + " not allowed it")
                            .formatted(extent.firstPage(), space.name()));
        }
        if (extent.joining()
                .filter(home -> home.node().equals(node) && home.incarnation().equals(known.poolId()))
                .isEmpty()) {
            throw ProblemException.conflict(
                    "no-such-home",
                    "node '%s' does not join the extent at page %d of space '%s'"
                            .formatted(node, extent.firstPage(), space.name()));
        }
        return extent;
    }
}
