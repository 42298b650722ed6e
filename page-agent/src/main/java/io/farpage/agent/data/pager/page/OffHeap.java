package io.farpage.agent.data.pager.page;

import io.farpage.linux.Memory;
import io.farpage.linux.SystemCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Zeroed memory outside the heap, for tables that grow with a guest. The kernel gives physical memory to the parts that
 * are written to, so the table of a guest that uses little of its memory needs little. Freed when it is unreachable.
 */
public final class OffHeap {
    /**
     * Below this the C library's allocator is cheaper than a mapping, but the memory counts against
     * -XX:MaxDirectMemorySize. A process may have 65,530 mappings (vm.max_map_count).
     */
    private static final long MAPPED_FROM = 1 << 16;

    private static final int MADV_DONTNEED = 4;

    private OffHeap() {}

    /**
     * Allocates zeros, aligned to 8 bytes.
     *
     * @throws PageTableException naming the size, if the system cannot map it
     */
    public static MemorySegment allocate(long bytes) {
        if (bytes < MAPPED_FROM) {
            return Arena.ofAuto().allocate(bytes, Long.BYTES);
        }
        SystemCall mapped = Memory.mmap(bytes, 0);
        if (!mapped.succeeded()) {
            throw new PageTableException(
                    "mmap of %d bytes for a page table: %s; free memory on this host, or serve a smaller guest"
                            .formatted(bytes, mapped.error()));
        }
        return whole(mapped.value(), bytes);
    }

    @SuppressWarnings(
            "restricted") // SAFETY: the range has just been mapped, and is unmapped when the segment is unreachable.
    private static MemorySegment whole(long address, long bytes) {
        return MemorySegment.ofAddress(address)
                .reinterpret(bytes, Arena.ofAuto(), all -> Memory.munmap(address, bytes));
    }

    /** Gives the physical memory back at once rather than when the table is collected. It reads as zeros afterwards. */
    static void discard(MemorySegment segment) {
        if (segment.byteSize() >= MAPPED_FROM) {
            Memory.madvise(segment.address(), segment.byteSize(), MADV_DONTNEED);
        }
    }
}
