package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Chooses a home that joins an extent, by the rules by which {@link Placement} chooses those of a new space: in another failure domain than the homes
 * that stay, preferably so that they are a group that is in use, and then where most room is.
 */
final class NewHome {

    private final Draft draft;
    private final Extent extent;
    private final List<ExtentHome> kept;
    private final int pageSize;

    /** @param kept the homes that the extent has beside the new one */
    NewHome(Draft draft, Extent extent, List<ExtentHome> kept, int pageSize) {
        this.draft = draft;
        this.extent = extent;
        this.kept = kept;
        this.pageSize = pageSize;
    }

    /** A place for the extent; empty if no node that may have it has room in one piece. */
    Optional<ExtentHome> choose(Predicate<String> avoid) {
        long bytes = extent.count() * pageSize;
        Set<Set<String>> groups = Placement.groups(draft, kept.size() + 1);
        Set<String> with = kept.stream().map(ExtentHome::node).collect(Collectors.toSet());
        List<Node> nodes = candidates().filter(node -> !avoid.test(node.id())).toList();
        return FreeSpace.of(nodes, draft).stream()
                .flatMap(room -> room.gaps(pageSize).stream()
                        .filter(gap -> gap.length() >= bytes)
                        .min(Comparator.comparingLong(FreeSpace.Gap::length))
                        .map(gap -> new Place(room, gap))
                        .stream())
                .min(Comparator.<Place, Boolean>comparing(place -> !place.isGroup(groups, with))
                        .thenComparingLong(place -> -place.room().freeBytes())
                        .thenComparing(place -> place.room().node().id()))
                .map(Place::home);
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

    /** Nodes that may have the extent, with or without room. */
    private Stream<Node> candidates() {
        Set<String> used = extent.places().map(ExtentHome::node).collect(Collectors.toSet());
        Set<String> domains = kept.stream()
                .flatMap(home -> draft.nodes.find(home.node()).stream())
                .map(Node::failureDomain)
                .collect(Collectors.toSet());
        return draft.nodes.values().stream()
                .filter(node ->
                        node.status() == NodeStatus.ACTIVE && node.pool().exportedBytes() > 0)
                .filter(node -> !Drains.isDraining(draft, node.id()))
                .filter(node -> !used.contains(node.id()) && !domains.contains(node.failureDomain()));
    }

    /** Why {@link #choose} finds none, for people. */
    String obstacle() {
        long bytes = extent.count() * pageSize;
        List<String> rooms = candidates()
                .map(node -> FreeSpace.of(node, draft))
                .map(room -> "'%s' has %d"
                        .formatted(
                                room.node().id(),
                                room.gaps(pageSize).stream()
                                        .mapToLong(FreeSpace.Gap::length)
                                        .max()
                                        .orElse(0)))
                .toList();
        return rooms.isEmpty()
                ? "no other active node is in another failure domain than the homes that stay; add a node"
                : "no node has %d free bytes in one piece (%s); add a node, or delete a space"
                        .formatted(bytes, String.join(", ", rooms));
    }
}
