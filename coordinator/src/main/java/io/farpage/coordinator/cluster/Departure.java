package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;

/**
 * What goes with an incarnation: its endpoints in both directions, and, unless its successor has adopted
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
            draft.extents.change(space, _ -> List.of(new ExtentCommand.Lose(node.id(), node.poolId())));
        }
        // Before releases, since a deletion that this completes leaves some.
        Fences.depart(draft, node);
        attachments.depart(draft, node, how);
        draft.withdraw(node.id());
        for (Release release : draft.releases.under(node.id() + "/")) {
            draft.releases.remove(Keys.release(node.id(), release.id()));
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
        return draft.hostedBy(node.id()).stream()
                .flatMap(space -> draft.extents.of(space).stream())
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
}
