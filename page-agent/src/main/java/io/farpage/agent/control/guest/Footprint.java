package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.seal.SealTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The memory of this host and of the agent's heap that a guest needs apart from its pages, and how much is available.
 */
final class Footprint {
    private static final Path MEMINFO = Path.of("/proc/meminfo");
    private static final String AVAILABLE = "MemAvailable:";
    /** Heap of one pager, most of it histograms of latencies: measured, and rounded up. */
    private static final long HEAP_PER_PAGER = 1 << 20;

    /** Parts of the heap, out of {@link #HEAP_PARTS}, that the maps of one guest may take. */
    private static final long HEAP_PARTS_OF_A_GUEST = 2;

    private static final long HEAP_PARTS = 3;
    private static final int MIB_SHIFT = 20;
    private static final long NO_LIMIT = Long.MAX_VALUE;

    private Footprint() {}

    /** Pagers for which half of the heap has room, 1 or more. */
    static int pagers(long maxHeap) {
        return Math.clamp(maxHeap / 2 / HEAP_PER_PAGER, 1, Integer.MAX_VALUE);
    }

    /**
     * Checks that a part of the agent's heap suffices for what grows with a guest: two maps of its pages, of two bits
     * each, when it begins and when it ends; and a bit for each sealed page. Without heap the agent would end.
     *
     * @param maxHeap bytes
     * @throws IllegalArgumentException if it does not suffice, with both figures
     */
    static void requireHeap(long pages, boolean sealed, long maxHeap) {
        long bytes = pages / 2 + (sealed ? pages / Byte.SIZE : 0);
        long room = maxHeap / HEAP_PARTS * HEAP_PARTS_OF_A_GUEST;
        if (bytes > room) {
            throw new IllegalArgumentException(
                    ("a guest of %d pages may take %d MiB of this agent's heap of %d MiB, and may have %d MiB; use a"
                                    + " smaller space, pages of 2 MiB, or a larger heap (FARPAGE_JAVA_OPTS=-Xmx...)")
                            .formatted(pages, bytes >> MIB_SHIFT, maxHeap >> MIB_SHIFT, room >> MIB_SHIFT));
        }
    }

    /**
     * Checks that page tables fit into this host's memory, even if the guest uses all its pages.
     *
     * @param slices of the guest
     * @param sealed whether the pages are sealed, which takes a tag and a version for each
     * @param available bytes
     * @throws HandoffException if they do not fit, with both figures
     */
    static void requireTables(List<Slice> slices, boolean sealed, long available) throws HandoffException {
        long pages = slices.stream().mapToLong(Slice::pages).sum();
        long bytes = slices.stream()
                        .mapToLong(slice -> Pager.tableBytes(slice.pages()))
                        .sum()
                + (sealed ? pages * SealTable.ENTRY_BYTES : 0);
        if (bytes > available) {
            throw new HandoffException(
                    "the page table of %d pages may take %d bytes, and this host has %d bytes available; free memory"
                                    .formatted(pages, bytes, available)
                            + " on the host, or serve a smaller guest");
        }
    }

    /**
     * Bytes that the kernel can give to processes without swapping (MemAvailable); no limit if the kernel does not
     * report it.
     */
    static long availableMemory() {
        try {
            for (String line : Files.readAllLines(MEMINFO)) {
                if (line.startsWith(AVAILABLE)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
                }
            }
            return NO_LIMIT;
        } catch (IOException e) {
            // The mapping itself fails if there is no memory for it.
            return NO_LIMIT;
        }
    }
}
