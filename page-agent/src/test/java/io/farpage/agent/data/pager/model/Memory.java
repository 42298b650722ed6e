package io.farpage.agent.data.pager.model;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * Pages in the pool. The first word of a page is its version, and the rest of it zeros; so version 0 is a page of
 * zeros.
 */
final class Memory {
    static final int PAGE = 4096;
    static final int LARGE_PAGE = 2 << 20;

    /** Set in the version of a page with a part that was given up, until the page is stored to. */
    static final long PART_REMOVED = 1L << 62;

    @SuppressWarnings("restricted") // SAFETY: only addresses within the pool, which outlives the model, are read.
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private Memory() {}

    static long version(long address) {
        return ALL.get(JAVA_LONG, address);
    }

    static void version(long address, long version) {
        ALL.set(JAVA_LONG, address, version);
    }

    static MemorySegment at(long address, long length) {
        return ALL.asSlice(address, length);
    }
}
