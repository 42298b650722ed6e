package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The free room of all nodes and the groups of homes that are in use, for choosing homes for many extents. Worked out
 * once from a draft, when they are asked for; what is chosen is taken from it. Remembers what it has no place for. One
 * thread.
 */
final class Rooms {

    private final Draft draft;
    /** By node; empty until they are asked for. */
    private final Map<String, FreeSpace> rooms = new LinkedHashMap<>();

    private final Map<Integer, Set<Set<String>>> groups = new HashMap<>();
    private final Set<Object> without = new HashSet<>();

    /** The rooms as of a draft that will not change. */
    Rooms(Draft draft) {
        this.draft = draft;
    }

    private Map<String, FreeSpace> rooms() {
        if (rooms.isEmpty()) {
            draft.nodes.values().forEach(node -> rooms.put(node.id(), FreeSpace.of(node, draft)));
        }
        return rooms;
    }

    Collection<FreeSpace> all() {
        return rooms().values();
    }

    /** The groups of {@code copies} homes that extents have. */
    Set<Set<String>> groups(int copies) {
        return groups.computeIfAbsent(copies, draft::groups);
    }

    /** Takes a place that {@link NewHome} has chosen. */
    void take(ExtentHome home, long bytes) {
        Objects.requireNonNull(rooms().get(home.node())).take(home.offset(), bytes);
    }

    /** There was no place for what has these needs. More is taken and nothing given back, so there will be none. */
    void addWithout(Object needs) {
        without.add(needs);
    }

    boolean isWithout(Object needs) {
        return without.contains(needs);
    }
}
