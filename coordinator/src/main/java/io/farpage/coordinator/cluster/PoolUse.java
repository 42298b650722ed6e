package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * How much of each node's pool is in use. One pass over the extents counts all nodes. {@link FreeSpace} has the free
 * ranges of one node.
 */
public final class PoolUse {

    private final Map<String, Long> usedBytes = new HashMap<>();

    private PoolUse() {}

    /** The use at one moment. */
    public static PoolUse of(State state) {
        PoolUse use = new PoolUse();
        for (Space space : state.spaces().values()) {
            for (Extent extent : state.extentsOf(space)) {
                long bytes = extent.count() * space.pageSize();
                extent.places().filter(place -> isCurrent(state, place)).forEach(place -> use.add(place.node(), bytes));
            }
        }
        state.releases().forEach((key, release) -> {
            String node = key.substring(0, key.indexOf('/'));
            if (isCurrent(state, new ExtentHome(node, release.incarnation(), release.offset()))) {
                use.add(node, release.length());
            }
        });
        return use;
    }

    private static boolean isCurrent(State state, ExtentHome place) {
        return Optional.ofNullable(state.nodes().get(place.node()))
                .map(node -> node.poolId().equals(place.incarnation()))
                .orElse(false);
    }

    private void add(String node, long bytes) {
        usedBytes.merge(node, bytes, Long::sum);
    }

    /** Bytes of the node's pool that extents or releases hold. */
    public long usedBytes(Node node) {
        return usedBytes.getOrDefault(node.id(), 0L);
    }

    /** Bytes of the node's pool that nothing holds. */
    public long freeBytes(Node node) {
        return node.pool().exportedBytes() - usedBytes(node);
    }
}
