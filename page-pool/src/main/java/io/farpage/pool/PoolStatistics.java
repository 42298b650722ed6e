package io.farpage.pool;

import io.farpage.pool.frames.FrameAllocator;
import java.util.List;

/**
 * A pool's numbers at one moment; counters count from the pool's start. The values are read one after another, so they
 * may be of slightly different moments.
 *
 * @param exportedBytes length of the exported part
 * @param stagingBytes length of the staging part
 * @param mappedBytes length of the whole mapping, header and rounding included
 * @param backing what the pages are
 * @param hugepages how many hugetlb or transparent hugepages that is
 * @param locked whether no page can be swapped
 * @param staging the staging part's frames
 * @param zeroedBytes how much was zeroed for the next owner
 * @param steps what was wished for and not had
 */
public record PoolStatistics(
        long exportedBytes,
        long stagingBytes,
        long mappedBytes,
        Backing backing,
        long hugepages,
        boolean locked,
        Frames staging,
        long zeroedBytes,
        List<BackingStep> steps) {
    /** See {@link PoolStatistics}. */
    public PoolStatistics {
        steps = List.copyOf(steps);
    }

    /**
     * Frames that this node allocates. The coordinator allocates the exported ones.
     *
     * @param total all
     * @param free those that are not allocated
     * @param highWater the most that were held at once
     * @param exhaustions how often a frame or a run was asked for in vain
     */
    public record Frames(int total, int free, int highWater, long exhaustions) {
        static Frames of(FrameAllocator frames) {
            return new Frames(frames.capacity(), frames.available(), frames.highWater(), frames.exhaustions());
        }
    }
}
