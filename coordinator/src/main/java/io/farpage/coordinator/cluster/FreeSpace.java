package io.farpage.coordinator.cluster;

import io.farpage.coordinator.cluster.PoolRanges.Range;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The free room in one node's exported pool. Places for extents are taken from it. One thread. */
final class FreeSpace {

    private final Node node;
    /** Lengths of what is free, in bytes, by offset. */
    private final TreeMap<Long, Long> free = new TreeMap<>();

    /** Bytes from {@code offset} that are free. */
    record Gap(long offset, long length) {}

    private FreeSpace(Node node) {
        this.node = node;
    }

    /** What neither extents nor releases have, at the cost of a look at those of this pool. */
    static FreeSpace of(Node node, Draft draft) {
        FreeSpace room = new FreeSpace(node);
        PoolRanges.Pool pool = PoolRanges.Pool.of(node);
        room.free.put(0L, node.pool().exportedBytes());
        draft.used().of(pool).lengths().forEach(room::take);
        draft.released().of(pool).lengths().forEach(room::take);
        return room;
    }

    /**
     * Whether a range is free, and of a pool that may get new extents, at the cost of a look at its neighbours.
     *
     * @param bytes from the place
     */
    static boolean isFree(Draft draft, ExtentHome place, long bytes) {
        Range range = Range.of(place, bytes);
        return draft.nodes
                        .find(place.node())
                        .filter(node -> node.poolId().equals(place.incarnation()) && draft.isUsable(node))
                        .isPresent()
                && draft.used().of(range.pool()).isFree(range)
                && draft.released().of(range.pool()).isFree(range);
    }

    /** Takes a range that is free. */
    void take(long offset, long bytes) {
        Map.Entry<Long, Long> gap = free.floorEntry(offset);
        long end = gap == null ? 0 : gap.getKey() + gap.getValue();
        if (end < offset + bytes) {
            throw new IllegalStateException("bytes %d to %d of the pool of node '%s' are not free"
                    .formatted(offset, offset + bytes, node.id()));
        }
        free.remove(gap.getKey());
        put(gap.getKey(), offset);
        put(offset + bytes, end);
    }

    private void put(long from, long to) {
        if (from < to) {
            free.put(from, to - from);
        }
    }

    /** Bytes that no extent and no release holds. */
    long freeBytes() {
        return free.values().stream().mapToLong(Long::longValue).sum();
    }

    /** The gaps, cut to whole aligned pages, lowest first. */
    List<Gap> gaps(long pageSize) {
        return free.entrySet().stream()
                .flatMap(gap -> cut(gap.getKey(), gap.getKey() + gap.getValue(), pageSize).stream())
                .toList();
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
