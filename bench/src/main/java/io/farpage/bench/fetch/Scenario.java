package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Idle;

/** One run of the report: what is looked at, how both sides wait, and where they run. */
record Scenario(Mode mode, Idle idle, int depth, Placement placement) {
    /** Unique among the scenarios of one invocation, and fit for a file name. */
    String name() {
        return mode.label() + "-" + idle.label();
    }
}
