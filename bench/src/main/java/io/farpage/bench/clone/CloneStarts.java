package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.HeldToucher;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import java.time.Duration;
import org.HdrHistogram.Histogram;

/**
 * Starts of clones whose memory a process hands over: from the request that makes the clone until its first page is
 * there. The process runs already.
 */
final class CloneStarts implements Side {
    private final Bench bench;
    private final Snapshot snapshot;
    private final Histogram attaching = FetchRound.newHistogram();
    private final Histogram touching = FetchRound.newHistogram();

    CloneStarts(Bench bench, Snapshot snapshot) {
        this.bench = bench;
        this.snapshot = snapshot;
    }

    @Override
    public String name() {
        return "start-" + Snapshot.label(snapshot.bytes());
    }

    @Override
    public String backing() {
        return bench.clonesBacking();
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        return bench.starts(round, this::start);
    }

    private HeldToucher.Touched start(FaultToucher.Walk walk) throws InterruptedException {
        CloneAgents.Attached clone = bench.agents().attach(snapshot);
        HeldToucher.Touched touched;
        try (HeldToucher toucher = bench.toucher().arm(bench.setting(clone.memory(), 1), walk)) {
            toucher.go();
            touched = toucher.touched();
        }
        bench.agents().delete(clone);
        attaching.recordValue(clone.attaching().toNanos());
        touching.recordValue(touched.first().toNanos());
        Duration all = clone.attaching().plus(touched.first());
        return new HeldToucher.Touched(touched.measured(), all);
    }

    @Override
    public Cost cost() {
        return new Cost.OfStarts(attaching.getValueAtPercentile(50), touching.getValueAtPercentile(50));
    }
}
