package io.farpage.verbs.soft;

import java.lang.foreign.MemorySegment;

/** Memory by address, for registered memory whose bounds have been checked against its region. */
final class NativeMemory {
    @SuppressWarnings(
            "restricted") // the whole point: addresses come from regions that the owner promised to keep mapped
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    // SAFETY: every caller has checked its address and length against an open region, or owns the memory itself.

    private NativeMemory() {}

    static void copy(long from, long to, long length) {
        MemorySegment.copy(ALL, from, ALL, to, length);
    }
}
