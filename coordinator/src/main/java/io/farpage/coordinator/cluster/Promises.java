package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;

/**
 * Room that thin spaces may still ask for, and how far the pools may be promised to more spaces than they can hold. A
 * clone is promised nothing: most of its pages are those of its snapshot.
 */
public final class Promises {
    private static final int PERCENT = 100;

    private Promises() {}

    /** Bytes that all thin spaces may still ask for, of all their homes. */
    public static long bytes(State state) {
        return bytes(new Draft(state));
    }

    private static long bytes(Draft draft) {
        long bytes = 0;
        for (Space space : draft.spaces.values()) {
            if (space.isThin() && space.base().isEmpty() && space.snapshot().isEmpty()) {
                bytes += draft.extents.of(space).stream()
                                .filter(extent -> !extent.isAllocated())
                                .mapToLong(Extent::count)
                                .sum()
                        * space.pageSize()
                        * space.copies();
            }
        }
        return bytes;
    }

    /**
     * Checks that a space may be made beside what is promised. Where nothing is promised, room alone decides.
     *
     * @param more bytes that it takes or may ask for, at all its homes
     * @param overcommit per cent of the pools that may be in use or promised
     */
    static void check(Draft draft, boolean thin, long more, int overcommit) {
        long promised = bytes(draft);
        if (promised == 0 && !thin) {
            return;
        }
        long pools = 0;
        long used = 0;
        for (Node node : draft.nodes.values()) {
            if (draft.isUsable(node)) {
                PoolRanges.Pool pool = PoolRanges.Pool.of(node);
                pools += node.pool().exportedBytes();
                used += draft.used().of(pool).bytes()
                        + draft.released().of(pool).bytes();
            }
        }
        if (used + promised + more > (double) pools * overcommit / PERCENT) {
            throw new ProblemException(
                    507,
                    "overcommit",
                    ("%d bytes more would be promised: of pools of %d bytes, %d are in use and %d promised to thin"
                                    + " spaces, and pool.overcommit allows %d %%; add a node, delete a space, or"
                                    + " raise the factor")
                            .formatted(more, pools, used, promised, overcommit));
        }
    }
}
