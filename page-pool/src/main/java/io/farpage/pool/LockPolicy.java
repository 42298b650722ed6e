package io.farpage.pool;

/**
 * Whether a pool's pages are locked into memory with {@code mlock(2)}. Hugetlb pages are never swapped and count as
 * locked.
 */
public enum LockPolicy {
    /** Locked or no pool. */
    REQUIRE,
    /** Locked if the limit allows it, else a {@link BackingStep}. */
    PREFER
}
