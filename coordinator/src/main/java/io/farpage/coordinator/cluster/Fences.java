package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Records which incarnations the homes have to cut off. An incarnation that ended without detaching may have WRITEs
 * under way, which only the homes can stop. Its attachment stays until every home of the space has acknowledged that
 * its queue pairs with that incarnation are destroyed. The coordinator does not wait for a home that was removed or has
 * registered in a new incarnation, since that home has lost the pages. A home whose lease ran out may be cut off from
 * the coordinator alone: it is {@link #dropFailed dropped} if other homes have the pages, and waited for if it has the
 * last copy. The node itself may be such a home. The same is done to a node whose lease ran out and whose space another
 * node takes over.
 */
final class Fences {

    private Fences() {}

    private static List<Fence> under(Draft draft, String word) {
        return draft.fences.keysWith(word).stream()
                .flatMap(key -> draft.fences.find(key).stream())
                .toList();
    }

    /** A home has cut incarnations off. */
    static void acknowledge(Draft draft, String home, List<HostedAck.Fenced> fenced) {
        for (Fence fence : draft.fences.under(home + "/")) {
            if (!fence.acknowledged() && fenced.contains(new HostedAck.Fenced(fence.node(), fence.incarnation()))) {
                if (isRegistered(draft, fence)) {
                    draft.fences.put(Keys.fence(fence), fence.withAcknowledged(true));
                } else {
                    draft.fences.remove(Keys.fence(fence));
                }
                complete(draft, fence);
            }
        }
    }

    private static boolean isRegistered(Draft draft, Fence fence) {
        return draft.nodes
                .find(fence.node())
                .filter(node -> node.incarnation().equals(fence.incarnation()))
                .isPresent();
    }

    /** Has every home of a space cut an attached incarnation off; the attachment ends when all have. */
    static void begin(Draft draft, Space space, Attachment attachment) {
        if (!of(draft, space, attachment).isEmpty()) {
            return;
        }
        for (Extent extent : draft.extents.of(space)) {
            extent.places()
                    .flatMap(place -> owner(draft, place).stream())
                    .map(home -> new Fence(
                            home.id(),
                            home.incarnation(),
                            space.id(),
                            attachment.node(),
                            attachment.incarnation(),
                            false))
                    .forEach(fence -> put(draft, fence));
        }
        end(draft, space, attachment);
    }

    /** The incarnation of a home that has the pool with its pages now, unless that incarnation is just ending. */
    private static Optional<Node> owner(Draft draft, ExtentHome home) {
        return draft.nodes
                .find(home.node())
                .filter(node -> node.poolId().equals(home.incarnation()))
                .filter(node -> draft.retired.find(node.id()).stream()
                        .noneMatch(retired -> retired.incarnations().contains(node.incarnation())));
    }

    private static void put(Draft draft, Fence fence) {
        if (draft.fences.find(Keys.fence(fence)).isEmpty()) {
            draft.fences.put(Keys.fence(fence), fence);
            draft.emit(EventKind.FENCES_CHANGED, fence.home());
        }
    }

    /** The homes that have not cut an attached incarnation off yet. */
    static List<String> awaited(Draft draft, Space space, Attachment attachment) {
        return of(draft, space, attachment).stream()
                .filter(fence -> !fence.acknowledged())
                .map(Fence::home)
                .toList();
    }

    private static Collection<Fence> of(Draft draft, Space space, Attachment attachment) {
        return of(draft, space, attachment.node(), attachment.incarnation());
    }

    private static Collection<Fence> of(Draft draft, Space space, String node, Incarnation incarnation) {
        return under(draft, Keys.cutOff(node, incarnation, space.id()));
    }

    /** Refuses an incarnation that the homes of a space cut off, until it has detached. */
    static void checkNotCutOff(Draft draft, Space space, String node, Incarnation incarnation) {
        if (!of(draft, space, node, incarnation).isEmpty()) {
            throw ProblemException.conflict(
                    "taken-over",
                    ("space '%s' (id %d) was taken over from incarnation %s of node '%s' while its lease had run out;"
                                    + " it detaches first")
                            .formatted(space.name(), space.id(), incarnation, node));
        }
    }

    /** Ends the attachment of a fence, or passes it to the heir, once no home is awaited. */
    private static void complete(Draft draft, Fence fence) {
        draft.spaces
                .find(Keys.id(fence.space()))
                .ifPresent(space -> draft.attachments
                        .find(Keys.attachment(space.id(), fence.node()))
                        .filter(attachment -> attachment.incarnation().equals(fence.incarnation()))
                        .ifPresent(attachment -> end(draft, space, attachment)));
    }

    private static void end(Draft draft, Space space, Attachment attachment) {
        List<String> awaited = awaited(draft, space, attachment);
        if (!awaited.isEmpty() && !dropFailed(draft, space, awaited)) {
            return;
        }
        if (attachment.heir().isPresent() && !space.deleting()) {
            Succession.pass(draft, space, attachment);
            return;
        }
        Attachments.leave(draft, space, attachment);
    }

    /**
     * Drops homes that have not cut an incarnation off and whose leases have run out, so that an attachment can end
     * without them. A home is dropped only if each of its extents has another home whose lease runs, since all homes of
     * an extent have every page that is not in the guest's memory. No node that is attached could miss the drop: each
     * is being cut off, or is a member of a coherent space, whose homes do not count on what it knows. The frames stay
     * reserved until the home {@link #holds has cut it off}.
     *
     * @param awaited the homes that have not cut it off
     * @return true if no home is awaited; false leaves everything as it was
     */
    private static boolean dropFailed(Draft draft, Space space, Collection<String> awaited) {
        if (space.deleting()
                || !awaited.stream().allMatch(home -> draft.isFailed(home))
                || !(space.isCoherent()
                        || draft.attachedTo(space).stream().allMatch(each -> isCutOff(draft, space, each)))) {
            return false;
        }
        for (Extent extent : draft.extents.of(space)) {
            boolean isHeld = extent.homes().stream().anyMatch(home -> awaited.contains(home.node()));
            if (isHeld && (extent.state() == ExtentState.LOST || !hasAnother(draft, extent, awaited))) {
                return false;
            }
        }
        draft.extents.change(
                space,
                extent -> extent.homes().stream()
                        .filter(home -> awaited.contains(home.node()))
                        .<ExtentCommand>map(ExtentCommand.Drop::new)
                        .toList());
        return true;
    }

    private static boolean hasAnother(Draft draft, Extent extent, Collection<String> than) {
        return extent.homes().stream()
                .map(ExtentHome::node)
                .anyMatch(home -> !than.contains(home) && !draft.isFailed(home));
    }

    /**
     * Whether a home may still take WRITEs to a space from an incarnation that it has to cut off: until then no frame
     * of that space is zeroed and given away.
     */
    static boolean holds(Draft draft, String home, long space) {
        return draft.fences.under(home + "/").stream()
                .anyMatch(fence -> fence.space() == space && !fence.acknowledged());
    }

    /** Whether the homes of a space are to cut an attached incarnation off, or have done so. */
    static boolean isCutOff(Draft draft, Space space, Attachment attachment) {
        return !of(draft, space, attachment).isEmpty();
    }

    /**
     * A node says that it has detached from a space by itself: its homes need not keep it cut off.
     *
     * @return whether there was a fence
     */
    static boolean lift(Draft draft, long space, String node, Incarnation incarnation) {
        List<Fence> lifted = under(draft, Keys.cutOff(node, incarnation, space));
        for (Fence fence : lifted) {
            draft.fences.remove(Keys.fence(fence));
            draft.emit(EventKind.FENCES_CHANGED, fence.home());
        }
        return !lifted.isEmpty();
    }

    /**
     * An incarnation is gone for good. As a home it has nothing left to protect. As a node that was cut off it cannot
     * come back, so the fences that were acknowledged end; the others stay.
     */
    static void depart(Draft draft, Node gone) {
        for (Fence fence : draft.fences.under(gone.id() + "/")) {
            draft.fences.remove(Keys.fence(fence));
            complete(draft, fence);
        }
        endAcknowledged(draft, gone);
    }

    /**
     * The pool of a home has passed to its successor. The successor has made no queue pair yet and gets every fence
     * anew. The process before has ended, and with it the copies from and to its own pool: a home need not cut that
     * process off.
     */
    static void handOver(Draft draft, Node before, Node now) {
        for (Fence fence : draft.fences.under(before.id() + "/")) {
            if (fence.isOf(before.id(), before.incarnation())) {
                draft.fences.remove(Keys.fence(fence));
                complete(draft, fence);
            } else {
                draft.fences.put(
                        Keys.fence(fence),
                        new Fence(
                                fence.home(),
                                now.incarnation(),
                                fence.space(),
                                fence.node(),
                                fence.incarnation(),
                                false));
                draft.emit(EventKind.FENCES_CHANGED, fence.home());
            }
        }
    }

    /** An incarnation that was cut off cannot come back: the fences that were acknowledged end. */
    static void endAcknowledged(Draft draft, Node gone) {
        for (Fence fence : under(draft, Keys.cutOff(gone.id(), gone.incarnation()))) {
            if (fence.acknowledged()) {
                draft.fences.remove(Keys.fence(fence));
            }
        }
    }

    /**
     * Leases have run out or run again, or a node has detached: attachments may end without the homes that have failed.
     * Such a home still cuts the incarnation off, if it lives.
     */
    static void endWithoutFailed(Draft draft) {
        draft.fences.values().stream().filter(fence -> !fence.acknowledged()).forEach(fence -> complete(draft, fence));
    }

    /** Names of homes, for messages. */
    static String names(List<String> homes) {
        return homes.stream().map(home -> "'" + home + "'").collect(Collectors.joining(", "));
    }
}
