package io.farpage.bench.fault;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.cluster.Idle;

/** One run of the report: what is looked at, how both sides wait, and where they run. */
record FaultScenario(FaultCase kind, Idle idle, FaultPlacement placement) {
    /** Unique among the scenarios of one invocation, and fit for a file name. */
    String name() {
        return kind.label() + "-" + idle.label();
    }

    /** What a round touches: the same on both sides. */
    FaultToucher.Walk walk(FaultPlan plan, int round) {
        return new FaultToucher.Walk(
                plan.given().pages,
                plan.given().pages,
                kind.pattern(),
                kind.threads(plan),
                plan.settle(),
                plan.run().seed() * 1_000_003 + round,
                kind.evicts());
    }
}
