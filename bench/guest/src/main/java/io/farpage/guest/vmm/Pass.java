package io.farpage.guest.vmm;

import java.util.Locale;

/** What a guest does with every page in one visit of all. */
public enum Pass {
    /** Expects it to be zeros, as RAM that was never written. */
    ZEROS,
    /** Writes it. */
    WRITE,
    /** Expects what was written last. */
    READ,
    /** Expects what was written last, and writes something else. */
    MODIFY,
    /**
     * Takes the lock in its first word, adds one to the second, and gives the lock back: every vCPU on all pages, also
     * beside other machines that have the same memory.
     */
    COUNT,
    /** Expects that it was counted as often as the plan says. */
    COUNTED;

    boolean expects() {
        return this != WRITE && this != COUNT;
    }

    /** Whether pages hold a lock and a count. */
    boolean counts() {
        return this == COUNT || this == COUNTED;
    }

    boolean writes() {
        return this == WRITE || this == MODIFY;
    }

    /** The name in lower case, as options and results spell it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
