package io.farpage.guest.vmm;

import java.util.Locale;

/** The order in which a guest visits its pages; each page once. */
public enum Walk {
    /** 0, 1, 2, … */
    SEQUENTIAL,
    /** With a constant distance, around again until none is left. */
    STRIDE,
    /** As if drawn from a hat. */
    RANDOM;

    /** The name in lower case, as options and results spell it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
