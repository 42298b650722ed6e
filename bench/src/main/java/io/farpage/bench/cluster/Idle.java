package io.farpage.bench.cluster;

import io.farpage.bench.baseline.BaselineSettings;
import java.util.Locale;

/** What both sides do while they wait for each other. */
public enum Idle {
    SPIN,
    ADAPTIVE,
    BLOCK;

    /** The baseline that waits alike; it knows no adaptive waiting, which under load spins. */
    public BaselineSettings.Mode baseline() {
        return this == BLOCK ? BaselineSettings.Mode.BLOCK : BaselineSettings.Mode.SPIN;
    }

    /** Whether each side needs a CPU of its own. */
    public boolean needsTwoCpus() {
        return this != BLOCK;
    }

    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
