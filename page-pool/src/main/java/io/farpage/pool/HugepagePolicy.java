package io.farpage.pool;

/** Whether a pool is made of hugepages. */
public enum HugepagePolicy {
    /** Of the configured size or not at all. */
    REQUIRE,
    /** Of the largest that can be had; each step down is a {@link BackingStep}. */
    PREFER,
    /** Of base pages, transparent hugepages switched off. */
    OFF
}
