package io.farpage.bench.report;

import java.util.Locale;

/** What a report is about. */
public enum Subject {
    /** Pages read from another node. */
    FETCH,
    /** Touches of memory that an agent pages. */
    FAULT,
    /** Touches of memory whose pages come from what may be taken instead of farpage. */
    PEERS,
    /** Starts of clones of a snapshot, and what they share. */
    CLONE,
    /** Faults of members of coherent spaces. */
    COHERENT;

    /** As in the names of a report's files. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
