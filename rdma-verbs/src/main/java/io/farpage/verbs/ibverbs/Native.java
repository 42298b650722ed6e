package io.farpage.verbs.ibverbs;

import java.lang.foreign.MemorySegment;

/** Views of memory that C owns. */
final class Native {
    /** All of memory, for copying from an address that the caller vouches for. */
    @SuppressWarnings("restricted") // work requests name their data by address
    // SAFETY: nothing is accessed by this alone; each use says why its range is valid.
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private Native() {}

    /** The {@code size} bytes at {@code address}. */
    static MemorySegment at(long address, long size) {
        return ALL.asSlice(address, size);
    }
}
