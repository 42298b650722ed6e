package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The free room in one node's exported pool. It is worked out from the extents and releases each time, never kept from
 * one state to another, so that it cannot come to differ from them.
 */
final class FreeSpace {

    private final Node node;
    private final TreeMap<Long, Long> used = new TreeMap<>();
    /** By size of page; filled when asked for, which is after all that is used is known. */
    private final Map<Long, List<Gap>> gaps = new HashMap<>();

    /** Bytes from {@code offset} that are free. */
    record Gap(long offset, long length) {}

    private FreeSpace(Node node) {
        this.node = node;
    }

    static FreeSpace of(Node node, Draft draft) {
        return of(List.of(node), draft).getFirst();
    }

    /** The room of several nodes, in their order, at the cost of one look at all extents. */
    static List<FreeSpace> of(List<Node> nodes, Draft draft) {
        Map<String, FreeSpace> rooms = new LinkedHashMap<>();
        for (Node node : nodes) {
            FreeSpace room = new FreeSpace(node);
            room.use(draft.releases.under(node.id() + "/"));
            rooms.put(node.id(), room);
        }
        for (Space space : draft.spaces.values()) {
            for (Extent extent : draft.extents.of(space)) {
                long bytes = extent.count() * space.pageSize();
                extent.homes().forEach(place -> use(rooms, place, bytes));
                extent.joining().ifPresent(place -> use(rooms, place, bytes));
                extent.droppedHomes().forEach(former -> use(rooms, former.home(), bytes));
            }
        }
        return List.copyOf(rooms.values());
    }

    static FreeSpace of(Node node, State state) {
        return of(node, new Draft(state));
    }

    private static void use(Map<String, FreeSpace> rooms, ExtentHome place, long bytes) {
        FreeSpace room = rooms.get(place.node());
        if (room != null) {
            room.use(place, bytes);
        }
    }

    private void use(ExtentHome place, long bytes) {
        if (isCurrent(place.incarnation())) {
            used.merge(place.offset(), bytes, Math::max);
        }
    }

    private void use(Collection<Release> releases) {
        for (Release release : releases) {
            if (isCurrent(release.incarnation())) {
                used.merge(release.offset(), release.length(), Math::max);
            }
        }
    }

    private boolean isCurrent(Incarnation incarnation) {
        return incarnation.equals(node.poolId());
    }

    /** Takes a range for an extent; false if it is not free, or of another pool. */
    boolean take(ExtentHome place, long bytes) {
        boolean isFree = isCurrent(place.incarnation())
                && gaps(1).stream()
                        .anyMatch(gap -> gap.offset() <= place.offset()
                                && place.offset() + bytes <= gap.offset() + gap.length());
        if (isFree) {
            used.put(place.offset(), bytes);
            gaps.clear();
        }
        return isFree;
    }

    /** Bytes that no extent and no release holds. */
    long freeBytes() {
        return gaps(1).stream().mapToLong(Gap::length).sum();
    }

    /** The gaps, cut to whole aligned pages, lowest first. */
    List<Gap> gaps(long pageSize) {
        return gaps.computeIfAbsent(pageSize, this::findGaps);
    }

    private List<Gap> findGaps(long pageSize) {
        List<Gap> found = new ArrayList<>();
        long at = 0;
        for (Map.Entry<Long, Long> piece : used.entrySet()) {
            cut(at, piece.getKey(), pageSize).ifPresent(found::add);
            // Extents overlap only if the store is damaged.
            at = Math.max(at, piece.getKey() + piece.getValue());
        }
        cut(at, node.pool().exportedBytes(), pageSize).ifPresent(found::add);
        return List.copyOf(found);
    }

    private static Optional<Gap> cut(long from, long to, long pageSize) {
        long start = Math.ceilDiv(from, pageSize) * pageSize;
        long length = Math.floorDiv(to - start, pageSize) * pageSize;
        return length > 0 ? Optional.of(new Gap(start, length)) : Optional.empty();
    }

    Node node() {
        return node;
    }
}
