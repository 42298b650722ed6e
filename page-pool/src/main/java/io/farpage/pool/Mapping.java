package io.farpage.pool;

import io.farpage.linux.Memory;
import io.farpage.linux.SystemCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Mapped memory that goes with its arena: closing the arena unmaps, and makes every segment of it throw from then on.
 */
record Mapping(long address, long bytes, Arena arena, MemorySegment segment) {
    // A mapping of our own making is given its length here; there is no other way to have it as a segment.
    @SuppressWarnings("restricted")
    static Mapping at(long address, long bytes) {
        Arena arena = Arena.ofShared();
        // SAFETY: the range was just mapped by this process, is mapped nowhere else, and is unmapped by this arena
        // only.
        MemorySegment segment =
                MemorySegment.ofAddress(address).reinterpret(bytes, arena, s -> unmap(s.address(), s.byteSize()));
        return new Mapping(address, bytes, arena, segment);
    }

    void close() {
        arena.close();
    }

    static void unmap(long address, long bytes) {
        SystemCall call = Memory.munmap(address, bytes);
        if (!call.succeeded()) {
            throw new IllegalStateException("munmap(0x%x, %d): %s".formatted(address, bytes, call.error()));
        }
    }
}
