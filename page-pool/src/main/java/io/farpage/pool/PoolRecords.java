package io.farpage.pool;

import java.lang.foreign.MemorySegment;

/**
 * What an agent leaves beside its pool for the agent that adopts it.
 *
 * @param seen of the cluster's history, which decides which coordinator the successor obeys
 * @param hosted what lies in the pool
 */
public record PoolRecords(PoolRecord seen, PoolRecord hosted) {
    private static final int PAGE = 4096;
    private static final int SEEN_OFFSET = PoolLayout.IDENTITY_OFFSET + PAGE;
    private static final int HOSTED_OFFSET = SEEN_OFFSET + PAGE;

    /** In the rest of the first 2 MiB of a pool, which is registered with no device. */
    static PoolRecords in(MemorySegment pool) {
        return new PoolRecords(
                new PoolRecord(pool.asSlice(SEEN_OFFSET, PAGE)),
                new PoolRecord(pool.asSlice(HOSTED_OFFSET, PoolLayout.exportedOffset() - HOSTED_OFFSET)));
    }
}
