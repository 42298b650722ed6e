package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongPredicate;

/**
 * What goes with an incarnation: its endpoints in both directions, its regions, and, unless its successor has adopted
 * the pool, its releases and what its pool held.
 */
final class Departure {

    private static final int RETIRED_KEPT = 64;

    private Departure() {}

    /** @param how the incarnation ended, for people */
    static void retireIncarnation(Draft draft, Attachments attachments, Node node, String how) {
        retire(draft, node, RETIRED_KEPT);
        // First, since no fence is needed where the pages are gone.
        for (Space space : draft.spaces.values()) {
            loseExtents(draft, space, node);
        }
        // Before releases, since a deletion that this completes leaves some.
        Fences.depart(draft, node);
        attachments.depart(draft, node, how);
        draft.withdraw(node.id());
        for (Release release : draft.releases.under(node.id() + "/")) {
            draft.releases.remove(Spaces.releaseKey(node.id(), release.id()));
        }
    }

    /**
     * The agent was killed and started again, and has adopted the pool: extents and releases stay. The process has
     * ended with its links, keys and guests, except those that the successor has adopted.
     *
     * @param now the successor, which is registered
     * @param adopts the spaces of those guests
     */
    static void succeedIncarnation(Draft draft, Attachments attachments, Node before, Node now, LongPredicate adopts) {
        retire(draft, before, RETIRED_KEPT);
        Fences.endAcknowledged(draft, before);
        Succession.begin(draft, attachments, before, now, adopts);
        Fences.handOver(draft, before, now);
        Pulls.adopted(draft, now);
        draft.withdraw(before.id());
    }

    /** Extents whose pages a node has and no other home that is alive. */
    static long lastCopies(Draft draft, Node node) {
        return draft.extents.values().stream()
                .flatMap(extents -> extents.list().stream())
                .filter(extent -> extent.state() == ExtentState.OK)
                .filter(extent -> extent.homes().stream().anyMatch(home -> isIn(home, node)))
                .filter(extent -> extent.homes().stream()
                        .filter(home -> !isIn(home, node))
                        .noneMatch(home -> isAlive(draft, home)))
                .count();
    }

    private static boolean isIn(ExtentHome home, Node node) {
        return home.node().equals(node.id()) && home.incarnation().equals(node.poolId());
    }

    private static boolean isAlive(Draft draft, ExtentHome home) {
        return draft.nodes
                .find(home.node())
                .filter(node -> isIn(home, node) && node.status() != NodeStatus.FAILED)
                .isPresent();
    }

    private static void retire(Draft draft, Node node, int kept) {
        List<Incarnation> all = new ArrayList<>(
                draft.retired.find(node.id()).map(State.Retired::incarnations).orElse(List.of()));
        all.add(node.incarnation());
        draft.retired.put(node.id(), new State.Retired(all.subList(Math.max(0, all.size() - kept), all.size())));
    }

    private static void loseExtents(Draft draft, Space space, Node node) {
        String key = State.idKey(space.id());
        List<Extent> before = draft.extents.find(key).map(State.Extents::list).orElse(List.of());
        List<Extent> after = before.stream()
                .map(extent -> without(extent, node.id(), node.poolId()))
                .toList();
        if (after.equals(before)) {
            return;
        }
        draft.extents.put(key, new State.Extents(after));
        boolean anyLost =
                after.stream().anyMatch(extent -> extent.state() == ExtentState.LOST && !before.contains(extent));
        if (anyLost) {
            draft.spaces.put(key, space.withState(ExtentState.LOST));
        }
        draft.emit(anyLost ? EventKind.EXTENTS_LOST : EventKind.HOMES_CHANGED, Optional.of(node.id()), space);
    }

    /** An extent after the memory of a node is gone: with one home less, or lost with the last one. */
    private static Extent without(Extent extent, String node, Incarnation pool) {
        Extent now = extent.acknowledged(
                former -> former.node().equals(node) && former.incarnation().equals(pool));
        Optional<ExtentHome> joining = extent.joining()
                .filter(home -> home.node().equals(node) && home.incarnation().equals(pool));
        if (joining.isPresent()) {
            return now.forget(joining.get());
        }
        Optional<ExtentHome> gone = extent.homes().stream()
                .filter(home -> home.node().equals(node) && home.incarnation().equals(pool))
                .findFirst();
        if (gone.isEmpty() || extent.state() == ExtentState.LOST) {
            return now;
        }
        return extent.homes().size() > 1 ? now.forget(gone.get()) : now.withState(ExtentState.LOST);
    }
}
