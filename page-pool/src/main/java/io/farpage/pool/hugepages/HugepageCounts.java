package io.farpage.pool.hugepages;

/**
 * The kernel's pool of one hugepage size at one moment, in pages; see
 * {@code Documentation/admin-guide/mm/hugetlbpage.rst}.
 *
 * @param size of each page
 * @param total all pages of the pool, surplus ones included
 * @param free those that are not faulted in
 * @param reserved those of {@code free} that are already promised to a mapping
 * @param surplus those of {@code total} beyond what was configured
 * @param overcommit how many surplus pages the kernel may make on demand
 */
public record HugepageCounts(HugepageSize size, long total, long free, long reserved, long surplus, long overcommit) {
    /** Free pages that are not promised to anyone. */
    public long available() {
        return Math.max(0, free - reserved);
    }

    /** What was written to {@code nr_hugepages}; reading that file gives {@link #total()}. */
    public long configured() {
        return total - surplus;
    }

    @Override
    public String toString() {
        return "%s hugepages: %d total, %d free, %d of them reserved".formatted(size, total, free, reserved);
    }
}
