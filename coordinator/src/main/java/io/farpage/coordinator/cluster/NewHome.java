package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Chooses a home that joins an extent, by the rules by which {@link Placement} chooses those of a new space: in another
 * failure domain than the homes that stay, preferably so that they are a group that is in use, and then where most room
 * is.
 */
final class NewHome {

    private final Draft draft;
    private final Rooms rooms;
    private final Extent extent;
    private final List<ExtentHome> kept;
    private final int pageSize;

    /**
     * @param rooms as of the draft, and less what was chosen for others
     * @param kept the homes that the extent has beside the new one
     */
    NewHome(Draft draft, Rooms rooms, Extent extent, List<ExtentHome> kept, int pageSize) {
        this.draft = draft;
        this.rooms = rooms;
        this.extent = extent;
        this.kept = kept;
        this.pageSize = pageSize;
    }

    /** All that a place depends on beside the rooms. */
    private record Needs(Set<String> used, Set<String> domains, Predicate<String> avoid, long bytes, int pageSize) {}

    /**
     * A place for the extent; empty if no node that may have it has room in one piece.
     *
     * @param avoid nodes that it must not be on; equal ones avoid the same nodes
     */
    Optional<ExtentHome> choose(Predicate<String> avoid) {
        long bytes = extent.count() * pageSize;
        Needs needs = new Needs(used(), domains(), avoid, bytes, pageSize);
        if (rooms.isWithout(needs)) {
            return Optional.empty();
        }
        Set<Set<String>> groups = rooms.groups(kept.size() + 1);
        Set<String> with = kept.stream().map(ExtentHome::node).collect(Collectors.toSet());
        Optional<ExtentHome> chosen = candidates()
                .filter(room -> !avoid.test(room.node().id()))
                .flatMap(room -> room.gaps(pageSize).stream()
                        .filter(gap -> gap.length() >= bytes)
                        .min(Comparator.comparingLong(FreeSpace.Gap::length))
                        .map(gap -> new Place(room, gap))
                        .stream())
                .min(Comparator.<Place, Boolean>comparing(place -> !place.isGroup(groups, with))
                        .thenComparingLong(place -> -place.room().freeBytes())
                        .thenComparing(place -> place.room().node().id()))
                .map(Place::home);
        if (chosen.isEmpty()) {
            rooms.addWithout(needs);
        }
        return chosen;
    }

    private record Place(FreeSpace room, FreeSpace.Gap gap) {
        boolean isGroup(Set<Set<String>> groups, Set<String> with) {
            return groups.contains(
                    Stream.concat(with.stream(), Stream.of(room.node().id())).collect(Collectors.toSet()));
        }

        ExtentHome home() {
            Node node = room.node();
            return new ExtentHome(node.id(), node.poolId(), gap.offset());
        }
    }

    private Set<String> used() {
        return extent.places().map(ExtentHome::node).collect(Collectors.toSet());
    }

    private Set<String> domains() {
        return kept.stream()
                .flatMap(home -> draft.nodes.find(home.node()).stream())
                .map(Node::failureDomain)
                .collect(Collectors.toSet());
    }

    /** Nodes that may have the extent, with or without room. */
    private Stream<FreeSpace> candidates() {
        Set<String> used = used();
        Set<String> domains = domains();
        return rooms.all().stream()
                .filter(room -> draft.isUsable(room.node()))
                .filter(room -> !used.contains(room.node().id())
                        && !domains.contains(room.node().failureDomain()));
    }

    /** Why {@link #choose} finds none, for people. */
    String obstacle() {
        long bytes = extent.count() * pageSize;
        List<String> found = candidates()
                .map(room -> "'%s' has %d"
                        .formatted(
                                room.node().id(),
                                room.gaps(pageSize).stream()
                                        .mapToLong(FreeSpace.Gap::length)
                                        .max()
                                        .orElse(0)))
                .toList();
        return found.isEmpty()
                ? "no other active node is in another failure domain than the homes that stay; add a node"
                : "no node has %d free bytes in one piece (%s); add a node, or delete a space"
                        .formatted(bytes, String.join(", ", found));
    }
}
