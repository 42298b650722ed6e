package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Ranges of a pool that its node keeps as those of a space, and that no space has in the merged reports: the copy was
 * dropped and acknowledged, or the space deleted, and the coordinator was lost before the node had read of the release.
 * The range holds pages, and keys of other nodes reach it, so the node has to revoke these and to zero the range before
 * another space is given it.
 */
final class ForgottenPlaces {
    private final Merge merge;

    /** Bytes of a pool. */
    private record Range(long from, long length) {}

    /** Ranges that do not overlap each other, unless they begin at the same offset. */
    private static final class Taken {
        private final TreeMap<Long, Range> byOffset = new TreeMap<>();

        void add(Range range) {
            byOffset.merge(range.from(), range, (one, other) -> one.length() < other.length() ? other : one);
        }

        boolean overlaps(Range range) {
            Map.Entry<Long, Range> before = byOffset.lowerEntry(range.from() + range.length());
            return before != null
                    && before.getValue().from() + before.getValue().length() > range.from();
        }
    }

    ForgottenPlaces(Merge merge) {
        this.merge = merge;
    }

    /**
     * The releases that a node gets in addition to those that it knows.
     *
     * @param ids for them
     */
    List<Release> releases(String node, NodeReport report, LongSupplier ids) {
        Incarnation pool = report.registration().poolId();
        Taken taken = new Taken();
        merge.spaces().values().forEach(space -> ranges(space, node, pool).forEach(taken::add));
        Stream.concat(report.hosted().releases().stream(), report.released().stream())
                .filter(release -> release.incarnation().equals(pool))
                .forEach(release -> taken.add(new Range(release.offset(), release.length())));
        List<Release> forgotten = new ArrayList<>();
        for (SpaceExtents kept : report.hosted().spaces()) {
            long id = kept.space().id();
            ranges(kept, node, pool)
                    .filter(range -> !taken.overlaps(range))
                    .forEach(range -> forgotten.add(new Release(
                            ids.getAsLong(),
                            id,
                            pool,
                            range.from(),
                            range.length(),
                            !merge.spaces().containsKey(id))));
        }
        return forgotten;
    }

    private static Stream<Range> ranges(SpaceExtents space, String node, Incarnation pool) {
        return space.extents().stream()
                .flatMap(extent -> ranges(extent, space.space().pageSize(), node, pool));
    }

    private static Stream<Range> ranges(Extent extent, int pageSize, String node, Incarnation pool) {
        return extent.places()
                .filter(place ->
                        place.node().equals(node) && place.incarnation().equals(pool))
                .map(place -> new Range(place.offset(), extent.count() * pageSize));
    }
}
