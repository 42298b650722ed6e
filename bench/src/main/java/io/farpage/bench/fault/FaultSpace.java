package io.farpage.bench.fault;

import java.util.Locale;

/** The spaces of a run, each with pages of its own. */
enum FaultSpace {
    /** Each page has one home. */
    PLAIN,
    /** Its pages are sealed. */
    ENCRYPTED,
    /** Each page has two homes. */
    MIRRORED,
    /** It has one member, which is measured. */
    COHERENT,
    /** As {@link #PLAIN}, of the guest beside the one that is measured. */
    STREAM,
    /** As {@link #STREAM}, in pages of 2 MiB. */
    LARGE_STREAM;

    /** Its name, of the scenarios of one idle strategy. */
    String name(String idle) {
        return "bench-" + idle
                + (this == PLAIN ? "" : "-" + name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }

    /** How many homes each page has. */
    int homes() {
        return this == MIRRORED ? 2 : 1;
    }
}
