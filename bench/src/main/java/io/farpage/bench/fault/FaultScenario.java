package io.farpage.bench.fault;

import io.farpage.bench.cluster.Idle;

/** One run of the report: what is looked at, how both sides wait, and where they run. */
record FaultScenario(FaultCase kind, Idle idle, FaultPlacement placement) {
    /** Unique among the scenarios of one invocation, and fit for a file name. */
    String name() {
        return kind.label() + "-" + idle.label();
    }
}
