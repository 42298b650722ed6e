package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.pcollections.HashTreePMap;
import org.pcollections.PMap;
import org.pcollections.PSortedMap;
import org.pcollections.TreePMap;

/**
 * Ranges of pools that rows of one table have. No two of one pool overlap: no byte belongs to two rows. Worked out from
 * the rows, and kept up with them at the cost of what changes. Never changes itself.
 *
 * @param pools by pool
 */
record PoolRanges(PMap<Pool, Used> pools) {

    static final PoolRanges NONE = new PoolRanges(HashTreePMap.empty());

    private static final Used NOTHING = new Used(TreePMap.empty(), 0);

    /**
     * A pool.
     *
     * @param id the incarnation of the agent that made it
     */
    record Pool(String node, Incarnation id) {
        static Pool of(Node node) {
            return new Pool(node.id(), node.poolId());
        }
    }

    /** Bytes of a pool from an offset. */
    record Range(Pool pool, long offset, long bytes) {
        static Range of(ExtentHome place, long bytes) {
            return new Range(new Pool(place.node(), place.incarnation()), place.offset(), bytes);
        }

        /**
         * What a release has of a pool.
         *
         * @param key of its row
         */
        static Range of(String key, Release release) {
            String node = key.substring(0, key.indexOf('/'));
            return new Range(new Pool(node, release.incarnation()), release.offset(), release.length());
        }

        long end() {
            return offset + bytes;
        }
    }

    /**
     * What of one pool is in use.
     *
     * @param lengths of the ranges, by their offsets, in bytes
     * @param bytes of all ranges
     */
    record Used(PSortedMap<Long, Long> lengths, long bytes) {
        boolean isFree(Range range) {
            Map.Entry<Long, Long> before = lengths.lowerEntry(range.end());
            return before == null || before.getKey() + before.getValue() <= range.offset();
        }

        private Used with(Range range) {
            if (!isFree(range)) {
                throw new IllegalStateException("bytes %d to %d of the pool of node '%s' would be in use twice"
                        .formatted(range.offset(), range.end(), range.pool().node()));
            }
            return new Used(lengths.plus(range.offset(), range.bytes()), bytes + range.bytes());
        }

        private Used without(Range range) {
            return new Used(lengths.minus(range.offset()), bytes - range.bytes());
        }
    }

    /** What of a pool is in use. */
    Used of(Pool pool) {
        return Optional.ofNullable(pools.get(pool)).orElse(NOTHING);
    }

    /**
     * The ranges with a row put, replaced or removed.
     *
     * @param before the ranges that the row had
     * @param after those that it has
     * @throws IllegalStateException if another row has bytes of these
     */
    PoolRanges with(List<Range> before, List<Range> after) {
        if (before.equals(after)) {
            return this;
        }
        PMap<Pool, Used> changed = pools;
        for (Range range : before) {
            Used left = of(changed, range).without(range);
            changed = left.lengths().isEmpty() ? changed.minus(range.pool()) : changed.plus(range.pool(), left);
        }
        for (Range range : after) {
            changed = changed.plus(range.pool(), of(changed, range).with(range));
        }
        return new PoolRanges(changed);
    }

    private static Used of(PMap<Pool, Used> pools, Range range) {
        return pools.getOrDefault(range.pool(), NOTHING);
    }
}
