package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which incarnations can write to which spaces, at which homes. Nothing but the writer itself or the home takes that
 * away: the writer when it detaches, the home when it cuts the writer off or loses its memory. That a node is started
 * anew or removed does not.
 */
final class WritersModel {

    /** An incarnation that was attached to a space. */
    record Writer(long space, String node, long incarnation) {}

    private final Map<Writer, Set<ExtentHome>> reach = new HashMap<>();
    private final Map<Writer, AttachMode> modes = new HashMap<>();
    private final Map<Long, Boolean> torn = new TreeMap<>();

    /** A node was attached to a space. */
    void attached(Writer writer, AttachMode mode, boolean force, List<Extent> extents) {
        boolean wasAlone = modes.get(writer) == AttachMode.EXCLUSIVE;
        if (mode.hasGuest() && !hasGuest(writer)) {
            assertTrue(force || !isTorn(writer.space()), writer + " attached to a torn space");
            torn.put(writer.space(), false);
        }
        assertFalse(wasAlone && mode == AttachMode.SHARED, writer + " was exclusive");
        Set<ExtentHome> homes = new HashSet<>();
        extents.stream().filter(extent -> extent.state() == ExtentState.OK).forEach(e -> homes.addAll(e.homes()));
        reach.put(writer, homes);
        modes.put(writer, mode);
        checkAlone(writer.space());
    }

    /** A node reported that it has no operation under way in a space. */
    void detached(Writer writer, boolean saved) {
        if (hasGuest(writer) && !saved) {
            torn.put(writer.space(), true);
        }
        forget(writer);
    }

    private boolean hasGuest(Writer writer) {
        AttachMode mode = modes.get(writer);
        return mode != null && mode.hasGuest();
    }

    private void forget(Writer writer) {
        reach.remove(writer);
        modes.remove(writer);
    }

    /** The incarnation of a node ended without detaching. It may write on until its homes have cut it off. */
    void ended(String node, long incarnation) {
        modes.forEach((writer, mode) -> {
            if (writer.node().equals(node) && writer.incarnation() == incarnation && mode.hasGuest()) {
                torn.put(writer.space(), true);
            }
        });
        reach.values()
                .forEach(homes -> homes.removeIf(
                        home -> home.node().equals(node) && home.incarnation().value() == incarnation));
    }

    /** A home destroyed its queue pairs with an incarnation of a node. */
    void cutOff(String home, long homeIncarnation, String node, long incarnation) {
        reach.forEach((writer, homes) -> {
            if (writer.node().equals(node) && writer.incarnation() == incarnation) {
                homes.removeIf(h -> h.node().equals(home) && h.incarnation().value() == homeIncarnation);
            }
        });
    }

    /** Whether a space may hold older and newer pages. */
    boolean isTorn(long space) {
        return torn.getOrDefault(space, false);
    }

    /** The spaces that an attached incarnation can still write to, by what the model knows. */
    Set<Long> writable() {
        Set<Long> spaces = new HashSet<>();
        reach.forEach((writer, homes) -> {
            if (!homes.isEmpty()) {
                spaces.add(writer.space());
            }
        });
        return spaces;
    }

    /**
     * At most one can write, if one that can has the space exclusively. Members write beside each other, one
     * incarnation of each node.
     */
    void checkAlone(long space) {
        List<Writer> able = reach.entrySet().stream()
                .filter(entry ->
                        entry.getKey().space() == space && !entry.getValue().isEmpty())
                .map(Map.Entry::getKey)
                .toList();
        if (able.stream().anyMatch(writer -> modes.get(writer) == AttachMode.EXCLUSIVE)) {
            assertEquals(1, able.size(), "writers: " + able);
        }
        if (able.stream().anyMatch(writer -> modes.get(writer) == AttachMode.MEMBER)) {
            assertTrue(able.stream().allMatch(writer -> modes.get(writer) == AttachMode.MEMBER), "writers: " + able);
            assertEquals(able.size(), able.stream().map(Writer::node).distinct().count(), "members: " + able);
        }
    }
}
