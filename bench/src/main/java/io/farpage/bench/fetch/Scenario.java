package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Idle;

/**
 * One run of the report: what is looked at, how both sides wait, where they run, and whether the link between them is
 * encrypted or the pages are.
 */
record Scenario(Mode mode, Idle idle, int depth, Placement placement, Encryption encryption, Sealing sealing) {
    /** Unique among the scenarios of one invocation, and fit for a file name. */
    String name() {
        return mode.label() + "-" + idle.label() + (encryption == Encryption.ON ? "-encrypted" : "")
                + (sealing == Sealing.ON ? "-sealed" : "");
    }

    /** The same with plain pages over a link that is not encrypted. */
    Scenario plain() {
        return new Scenario(mode, idle, depth, placement, Encryption.OFF, Sealing.OFF);
    }
}
