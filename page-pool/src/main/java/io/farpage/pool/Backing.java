package io.farpage.pool;

import io.farpage.pool.hugepages.HugepageSize;

/** What pages a pool is really made of, best first. */
public enum Backing {
    /** Hugetlb pages of 1 GiB. */
    HUGETLB_1G,
    /** Hugetlb pages of 2 MiB. */
    HUGETLB_2M,
    /** Anonymous memory, at least a part of it in transparent hugepages. */
    TRANSPARENT,
    /** Base pages only. */
    BASE;

    static Backing of(HugepageSize size) {
        return switch (size) {
            case ONE_GIB -> HUGETLB_1G;
            case TWO_MIB -> HUGETLB_2M;
        };
    }

    /** Whether the pages come from the kernel's hugepage pool, so are never swapped. */
    public boolean isHugetlb() {
        return this == HUGETLB_1G || this == HUGETLB_2M;
    }
}
