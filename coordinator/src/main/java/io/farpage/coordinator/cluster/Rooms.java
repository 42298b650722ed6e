package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The free room of all nodes and the groups of homes that are in use, for choosing homes for many extents. Worked out
 * once from a draft, when they are asked for; what is chosen is taken from it. Remembers what it has no place for. One
 * thread.
 */
final class Rooms {

    private final Draft draft;
    private final State of;
    /** By node; empty until they are asked for. */
    private final Map<String, FreeSpace> rooms = new LinkedHashMap<>();

    private final Map<Integer, Set<Set<String>>> groups = new HashMap<>();
    private final Set<Object> without = new HashSet<>();
    private boolean taken;

    /** The rooms as a draft is now. */
    Rooms(Draft draft) {
        this.of = draft.finished();
        this.draft = new Draft(of);
    }

    /** At the cost of one look at all extents the first time. */
    private Map<String, FreeSpace> rooms() {
        if (rooms.isEmpty()) {
            FreeSpace.of(List.copyOf(draft.nodes.values()), draft)
                    .forEach(room -> rooms.put(room.node().id(), room));
        }
        return rooms;
    }

    /** Whether nothing was taken, and a state has the same nodes, extents and releases. */
    boolean isStillOf(State state) {
        return !taken && isSame(of, state);
    }

    /**
     * Whether all nodes have the same room in two states; may be false though they have. Rows that both states share
     * are not looked into.
     */
    static boolean isSame(State one, State other) {
        return one.nodes().equals(other.nodes())
                && one.drains().equals(other.drains())
                && one.extents().equals(other.extents())
                && one.releases().equals(other.releases());
    }

    Collection<FreeSpace> all() {
        return rooms().values();
    }

    /** The groups of {@code copies} homes that extents have. */
    Set<Set<String>> groups(int copies) {
        return groups.computeIfAbsent(copies, size -> Placement.groups(draft, size));
    }

    /** Takes a place if it is free and the node still has that pool. */
    boolean take(ExtentHome home, long bytes) {
        FreeSpace room = rooms().get(home.node());
        if (room == null || !isUsable(draft, room.node()) || !room.take(home, bytes)) {
            return false;
        }
        taken = true;
        return true;
    }

    /** Whether a node may get new extents. */
    static boolean isUsable(Draft draft, Node node) {
        return node.status() == NodeStatus.ACTIVE
                && node.pool().exportedBytes() > 0
                && !Drains.isDraining(draft, node.id());
    }

    /** There was no place for what has these needs. More is taken and nothing given back, so there will be none. */
    void addWithout(Object needs) {
        without.add(needs);
    }

    boolean isWithout(Object needs) {
        return without.contains(needs);
    }
}
