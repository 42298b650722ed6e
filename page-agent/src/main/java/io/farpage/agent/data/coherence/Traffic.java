package io.farpage.agent.data.coherence;

import java.util.ArrayList;
import java.util.List;

/**
 * How often members have taken pages from each other in each part of a directory's extents: sixteenths, or single pages
 * if an extent has fewer than that. The shard's thread only.
 */
final class Traffic {
    static final int PARTS = 16;

    private final DirectoryExtents extents;
    /** Pages of a part of each extent; the last part may have fewer. */
    private final int[] sizes;
    /** By extent, {@link #PARTS} for each. */
    private final long[] taken;

    Traffic(DirectoryExtents extents) {
        this.extents = extents;
        sizes = new int[extents.count()];
        for (int extent = 0; extent < sizes.length; extent++) {
            sizes[extent] = Math.ceilDiv(extents.pages(extent), PARTS);
        }
        taken = new long[sizes.length * PARTS];
    }

    /** A page, named by its index, was taken from a member. */
    void taken(int index) {
        int extent = extents.extentOf(index);
        taken[extent * PARTS + (index - extents.base(extent)) / sizes[extent]]++;
    }

    /** In the order of their pages. */
    List<DirectoryStatus.Part> parts() {
        List<DirectoryStatus.Part> parts = new ArrayList<>();
        for (int extent = 0; extent < sizes.length; extent++) {
            int size = sizes[extent];
            int pages = extents.pages(extent);
            for (int first = 0, part = extent * PARTS; first < pages; first += size, part++) {
                parts.add(new DirectoryStatus.Part(
                        extents.page(extents.base(extent) + first), Math.min(size, pages - first), taken[part]));
            }
        }
        return parts;
    }
}
