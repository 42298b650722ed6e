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

    private static final long NO_LIMIT = Long.MAX_VALUE;

    private Footprint() {}

    /** Pagers for which half of the heap has room, 1 or more. */
    static int pagers(long maxHeap) {
        return Math.clamp(maxHeap / 2 / HEAP_PER_PAGER, 1, Integer.MAX_VALUE);
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
