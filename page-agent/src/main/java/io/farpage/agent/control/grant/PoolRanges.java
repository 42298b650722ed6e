package io.farpage.agent.control.grant;

import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The ranges of a pool that belong to a space. */
final class PoolRanges {
    private PoolRanges() {}

    /**
     * A run of bytes of the exported frames.
     *
     * @param offset of the first from their start
     * @param length how many
     */
    record PoolRange(long offset, long length) {
        long end() {
            return offset + length;
        }

        boolean contains(PoolRange other) {
            return offset <= other.offset() && other.end() <= end();
        }

        boolean overlaps(long from, long bytes) {
            return offset < from + bytes && from < end();
        }
    }

    /**
     * The most extents of a space that are granted one by one, so that each can be revoked alone; a device has a limit
     * of regions. A space of one piece has 64 extents, and one more for each gap of a pool that it is placed across.
     */
    static final int MAX_APART = 128;

    /** Ranges are joined up to this length: a device pins a range as a whole, and its key is revoked as a whole. */
    static final long MAX_JOINED = 16L << 30;

    /**
     * What a pool of a node, which is a home, has of an extent in an epoch; empty if it is none, or the extent is in
     * another epoch.
     */
    static List<PoolRange> of(SpaceExtents space, ExtentEpoch pulled, String home, Incarnation pool) {
        return space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK && pulled.equals(ExtentEpoch.of(extent)))
                .flatMap(extent -> extent.homes().stream()
                        .filter(place ->
                                place.node().equals(home) && place.incarnation().equals(pool))
                        .map(place -> new PoolRange(
                                place.offset(), extent.count() * space.space().pageSize())))
                .toList();
    }

    /** All that a space has in a pool of a node, dropped homes included. */
    static List<PoolRange> places(SpaceExtents space, String home, Incarnation pool) {
        return space.extents().stream()
                .flatMap(extent -> extent.places()
                        .filter(place ->
                                place.node().equals(home) && place.incarnation().equals(pool))
                        .map(place -> new PoolRange(
                                place.offset(), extent.count() * space.space().pageSize())))
                .toList();
    }

    /** What a pool of a node has of each extent of a space, sorted. */
    static List<PoolRange> of(SpaceExtents space, String home, Incarnation pool) {
        return space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(extent -> extent.targets()
                        .filter(place ->
                                place.node().equals(home) && place.incarnation().equals(pool))
                        .map(place -> new PoolRange(
                                place.offset(), extent.count() * space.space().pageSize())))
                .sorted(Comparator.comparingLong(PoolRange::offset))
                .toList();
    }

    /** What any pool of a node has of a space, and of what joins. */
    static List<PoolRange> of(SpaceExtents space, String home) {
        return space.extents().stream()
                .flatMap(extent -> extent.targets()
                        .filter(place -> place.node().equals(home))
                        .map(place -> new PoolRange(
                                place.offset(), extent.count() * space.space().pageSize())))
                .sorted(Comparator.comparingLong(PoolRange::offset))
                .toList();
    }

    /** Joins neighbours of sorted ranges. */
    static List<PoolRange> join(List<PoolRange> sorted) {
        List<PoolRange> joined = new ArrayList<>();
        for (PoolRange next : sorted) {
            if (!joined.isEmpty()
                    && joined.getLast().end() == next.offset()
                    && joined.getLast().length() + next.length() <= MAX_JOINED) {
                PoolRange last = joined.removeLast();
                joined.add(new PoolRange(last.offset(), last.length() + next.length()));
            } else {
                joined.add(next);
            }
        }
        return List.copyOf(joined);
    }
}
