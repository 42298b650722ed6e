package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Memory by address, for registered memory whose bounds have been checked against its region. */
final class NativeMemory {
    @SuppressWarnings(
            "restricted") // the whole point: addresses come from regions that the owner promised to keep mapped
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    // SAFETY: every caller has checked its address and length against an open region, or owns the memory itself.

    private static final VarHandle WORD = MethodHandles.insertCoordinates(JAVA_LONG.varHandle(), 0, ALL);

    private NativeMemory() {}

    static void copy(long from, long to, long length) {
        MemorySegment.copy(ALL, from, ALL, to, length);
    }

    static void put(long address, long value) {
        ALL.set(java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED, address, value);
    }

    /** Atomically adds; returns the value before. */
    static long fetchAndAdd(long address, long addend) {
        return (long) WORD.getAndAdd(address, addend);
    }

    /** Atomically swaps if equal; returns the value before. */
    static long compareAndSwap(long address, long expected, long desired) {
        return (long) WORD.compareAndExchange(address, expected, desired);
    }
}
