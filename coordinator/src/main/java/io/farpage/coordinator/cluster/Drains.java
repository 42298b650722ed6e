package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Nodes that are emptied under running guests. No extent is placed on such a node. {@link Repairs} lets another home
 * join each extent that the node holds, and the promotion drops the node. Thread-safe.
 */
public final class Drains {

    private final Ledger ledger;
    private final Copies copies;

    /** Works on a ledger. */
    public Drains(Ledger ledger, Copies copies) {
        this.ledger = ledger;
        this.copies = copies;
    }

    /** Begins to drain a node; does nothing if that has begun. */
    public Drain begin(String node) {
        ledger.change(draft -> {
            draft.requireNode(node);
            if (!draft.isDraining(node)) {
                draft.drains.put(node, new State.Draining(false));
                draft.emit(EventKind.DRAIN_CHANGED, node);
            }
            return node;
        });
        return of(node);
    }

    /**
     * Ends it: extents may be placed on the node again. What has left stays away; homes that join in its place are
     * promoted beside it or dropped.
     */
    public void cancel(String node) {
        ledger.change(draft -> {
            draft.requireNode(node);
            if (draft.drains.remove(node)) {
                draft.emit(EventKind.DRAIN_CHANGED, node);
            }
            return node;
        });
    }

    /** How far a node has been emptied, whether it is marked for draining or not. */
    public Drain of(String id) {
        Draft view = new Draft(ledger.state());
        Node node = view.requireNode(id);
        long extents = 0;
        long left = 0;
        List<String> reasons = new ArrayList<>();
        for (Space space : view.spaces.values()) {
            List<Extent> held = held(view, space, node);
            extents += held.size();
            left += held.stream()
                    .filter(extent -> isHome(extent, node))
                    .mapToLong(extent -> extent.count() * space.pageSize() - copies.copied(view, space, extent))
                    .sum();
            if (!held.isEmpty()) {
                reasons.add("space '%s' (id %d), %d extents: %s"
                        .formatted(space.name(), space.id(), held.size(), reason(view, space, held)));
            }
        }
        long bytes = view.usedBytes(node);
        if (extents == 0 && bytes > 0) {
            reasons.add("%d bytes are being zeroed".formatted(bytes));
        }
        if (!view.isDraining(id)) {
            reasons.addFirst("the node is not being drained; coordinator drain %s begins that".formatted(id));
        }
        return new Drain(
                id,
                view.isDraining(id) && bytes == 0,
                extents,
                bytes,
                OptionalLong.of(Math.max(0, bytes - left)),
                reasons);
    }

    /**
     * Whether a node's pool has a copy of an extent that may be read, rather than one that was dropped and is not
     * zeroed yet.
     */
    private static boolean isHome(Extent extent, Node node) {
        return extent.homes().stream()
                .anyMatch(home ->
                        home.node().equals(node.id()) && home.incarnation().equals(node.poolId()));
    }

    private static List<Extent> held(Draft draft, Space space, Node node) {
        return draft.extents.of(space).stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .filter(extent -> extent.places()
                        .anyMatch(place -> place.node().equals(node.id())
                                && place.incarnation().equals(node.poolId())))
                .toList();
    }

    static String reason(Draft draft, Space space, List<Extent> held) {
        if (space.deleting()) {
            return "the space is being deleted";
        }
        if (Coherence.isUsed(draft, space)) {
            return Coherence.STAYS;
        }
        boolean unattended = Pulls.isUnattended(draft, space);
        if (!unattended && RepairPolicy.writer(draft, space).isEmpty()) {
            return attachedWithout(draft, space);
        }
        long joining =
                held.stream().filter(extent -> extent.joining().isPresent()).count();
        if (joining > 0) {
            return "%d are being copied by the nodes that they move to".formatted(joining);
        }
        return held.stream()
                .filter(extent -> RepairPolicy.needsHome(draft, space, extent))
                .findFirst()
                .map(extent -> Pulls.hasSource(draft, extent)
                        ? obstacle(draft, space, extent)
                        : "no home of the pages is alive")
                .orElse(
                        unattended
                                ? "its homes have not recorded that the node is dropped"
                                : "the writer has not acknowledged that the node is dropped");
    }

    private static String obstacle(Draft draft, Space space, Extent extent) {
        NewHome home = new NewHome(draft, new Rooms(draft), extent, RepairPolicy.kept(draft, extent), space.pageSize());
        if (home.choose(_ -> false).isEmpty()) {
            return home.obstacle();
        }
        return extent.homes().stream()
                .filter(each -> Absences.mayReturn(draft, each))
                .findFirst()
                .map(away -> "node '%s' has failed, and another takes its place unless it is back within repair.grace"
                        .formatted(away.node()))
                .orElse("the next home is being chosen");
    }

    private static String attachedWithout(Draft draft, Space space) {
        List<Attachment> attached = draft.attachedTo(space);
        Attachment one = attached.getFirst();
        return switch (one.mode()) {
            case SHARED ->
                ("node '%s' has the space attached for its page tool, which may write to it; pages are copied when it"
                                + " has detached, or under a guest")
                        .formatted(one.node());
            case EXCLUSIVE -> exclusive(draft, space, one);
            case MEMBER -> Coherence.STAYS;
        };
    }

    private static String exclusive(Draft draft, Space space, Attachment writer) {
        return Fences.awaited(draft, space, writer).isEmpty()
                ? ("node '%s', which has the space attached, has failed and may still write to it; pages are copied"
                                + " when its lease runs again, or when another node has taken the space over")
                        .formatted(writer.node())
                : "node '%s' is being cut off from the space".formatted(writer.node());
    }

    /** Emits one event for each draining node when its pool becomes empty. */
    static void tell(Draft draft) {
        List<Node> draining = draft.nodes.values().stream()
                .filter(node -> draft.isDraining(node.id()) && node.status() != NodeStatus.FAILED)
                .toList();
        for (Node node : draining) {
            boolean told = draft.drains.find(node.id()).orElseThrow().told();
            boolean empty = draft.usedBytes(node) == 0;
            if (empty != told) {
                draft.drains.put(node.id(), new State.Draining(empty));
                if (empty) {
                    draft.emit(EventKind.NODE_DRAINED, node.id());
                }
            }
        }
    }
}
