package io.farpage.pool;

/**
 * One thing that the pool wished for and did not get. The pool works without it; an operator wants to know.
 *
 * @param what was not had; stable, fit for a metric's label
 * @param reason with the values that led to it
 * @param fix one line to run or to write
 */
public record BackingStep(What what, String reason, String fix) {
    @Override
    public String toString() {
        return what + ": " + reason + "; fix: " + fix;
    }

    /** What a pool can lack. */
    public enum What {
        /** No hugetlb pages of 1 GiB. */
        NO_HUGETLB_1G,
        /** No hugetlb pages of 2 MiB. */
        NO_HUGETLB_2M,
        /** No transparent hugepages, or not for all of the pool. */
        NOT_ALL_TRANSPARENT,
        /** Pages can be swapped. */
        NOT_LOCKED,
        /** Locked, but a device that wants to pin the pool will be refused. */
        PINNING_LIMITED,
        /** Pages come from any NUMA node. */
        NOT_NUMA_BOUND
    }
}
