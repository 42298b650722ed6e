package io.farpage.pool;

/** Whether a pool is made of hugepages. */
public enum HugepagePolicy {
    /** Hugepages of the configured size, or no pool. */
    REQUIRE,
    /** The largest hugepages that are available; each step down is a {@link BackingStep}. */
    PREFER,
    /** Base pages, with transparent hugepages switched off. */
    OFF
}
