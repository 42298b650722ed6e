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
    MODIFY;

    boolean expects() {
        return this != WRITE;
    }

    boolean writes() {
        return this == WRITE || this == MODIFY;
    }

    /** The name in lower case, as options and results spell it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
