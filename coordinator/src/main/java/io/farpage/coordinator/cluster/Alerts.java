package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.AlertKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * What an operator has to see to, worked out from the state alone in one pass over it, so that it is never out of date.
 */
public final class Alerts {

    /** Part of a pool in use from which it is nearly full: an extent that moves, or a repair, may find no room. */
    private static final double NEARLY_FULL = 0.9;

    /** Part of all pools in use from which room for thin spaces is scarce. */
    private static final double SCARCE = 0.8;

    private static final int PERCENT = 100;
    private static final Comparator<Alert> URGENCY = Comparator.comparing(Alert::kind)
            .thenComparing(alert -> alert.space().orElse(""))
            .thenComparing(alert -> alert.node().orElse(""));

    private final State state;
    private final List<Alert> found = new ArrayList<>();

    /** Extents whose only home is a node, by its id. */
    private final Map<String, Long> onlyCopies = new HashMap<>();

    private Alerts(State state) {
        this.state = state;
    }

    /** All alerts, the most urgent ones first. */
    public static List<Alert> of(State state) {
        Alerts alerts = new Alerts(state);
        state.spaces().values().forEach(alerts::checkSpace);
        state.nodes().values().forEach(alerts::checkNode);
        alerts.checkRoom();
        alerts.checkExpected();
        alerts.checkFences();
        alerts.found.sort(URGENCY);
        return alerts.found;
    }

    /** Whether an operator has to look at a node: the node is not active, or one of the alerts is about it. */
    public static Predicate<Node> attention(List<Alert> alerts) {
        Set<String> named =
                alerts.stream().flatMap(alert -> alert.node().stream()).collect(Collectors.toSet());
        return node -> node.status() != NodeStatus.ACTIVE || named.contains(node.id());
    }

    private void checkSpace(Space space) {
        List<Extent> extents = state.extentsOf(space);
        long lost = extents.stream()
                .filter(extent -> extent.state() == ExtentState.LOST)
                .count();
        if (lost > 0) {
            space(
                    AlertKind.PAGES_LOST,
                    space,
                    "the pages of %d of %d extents are lost; delete the space when nothing in it is needed"
                            .formatted(lost, extents.size()));
        }
        space.torn()
                .ifPresent(torn -> space(
                        AlertKind.SPACE_TORN,
                        space,
                        "it may hold a mix of older and newer pages since %s: %s".formatted(torn.at(), torn.reason())));
        long degraded =
                extents.stream().filter(extent -> isDegraded(space, extent)).count();
        if (degraded > 0) {
            space(
                    AlertKind.EXTENTS_DEGRADED,
                    space,
                    "%d of %d extents have fewer than %d homes; space show tells whether one joins"
                            .formatted(degraded, extents.size(), space.copies()));
        }
        for (Extent extent : extents) {
            if (extent.state() == ExtentState.OK && extent.homes().size() == 1) {
                onlyCopies.merge(extent.primary().node(), 1L, Long::sum);
            }
        }
    }

    /** Whether an extent that is not lost has fewer homes than its space was made with. */
    public static boolean isDegraded(Space space, Extent extent) {
        return extent.state() == ExtentState.OK && extent.isShortOf(space.copies());
    }

    private void checkNode(Node node) {
        if (node.status() == NodeStatus.FAILED) {
            long only = onlyCopies.getOrDefault(node.id(), 0L);
            if (only > 0) {
                node(
                        AlertKind.ONLY_COPY_AWAY,
                        node.id(),
                        "its lease ran out, and it has the only copy of %d extents; start its agent again"
                                .formatted(only));
            } else {
                node(
                        AlertKind.NODE_FAILED,
                        node.id(),
                        "its lease ran out; start its agent again, or take the node out of the cluster");
            }
            return;
        }
        long pool = node.pool().exportedBytes();
        long used = state.usedBytes(node);
        if (pool > 0 && used >= NEARLY_FULL * pool) {
            node(
                    AlertKind.POOL_NEARLY_FULL,
                    node.id(),
                    "%d %% of its pool are in use; add a node, or raise pool.exported"
                            .formatted(used * PERCENT / pool));
        }
    }

    private void checkRoom() {
        long pools = 0;
        long free = 0;
        for (Node node : state.nodes().values()) {
            if (node.status() != NodeStatus.FAILED) {
                pools += node.pool().exportedBytes();
                free += state.freeBytes(node);
            }
        }
        long promised = Promises.bytes(state);
        if (promised > free && free <= (1 - SCARCE) * pools) {
            found.add(new Alert(
                    AlertKind.ROOM_SCARCE.severity(),
                    AlertKind.ROOM_SCARCE,
                    Optional.empty(),
                    Optional.empty(),
                    ("thin spaces may ask for %d bytes, and all pools have %d left; a guest that gets none keeps what"
                                    + " it writes in its host's memory; add a node, or delete a space")
                            .formatted(promised, free)));
        }
    }

    private void checkExpected() {
        state.cluster().values().stream()
                .flatMap(cluster -> cluster.nodes().stream())
                .filter(expected -> !state.nodes().containsKey(expected.id()))
                .forEach(expected -> node(
                        AlertKind.NODE_MISSING,
                        expected.id(),
                        "the cluster was formed of it, and it has not registered; start its agent"));
    }

    private void checkFences() {
        state.fences().values().stream()
                .filter(fence -> !fence.acknowledged() && isAway(fence.home()))
                .forEach(fence -> found.add(new Alert(
                        AlertKind.FENCE_WAITS.severity(),
                        AlertKind.FENCE_WAITS,
                        Optional.of(fence.home()),
                        Optional.ofNullable(state.spaces().get(Keys.id(fence.space())))
                                .map(Space::name),
                        ("the space cannot be attached before this home has cut node %s off; start the home's agent"
                                        + " again")
                                .formatted(fence.node()))));
    }

    private boolean isAway(String node) {
        return Optional.ofNullable(state.nodes().get(node))
                .map(known -> known.status() == NodeStatus.FAILED)
                .orElse(true);
    }

    private void node(AlertKind kind, String node, String message) {
        found.add(Alert.ofNode(kind, node, message));
    }

    private void space(AlertKind kind, Space space, String message) {
        found.add(Alert.ofSpace(kind, space.name(), message));
    }
}
