package io.farpage.bench.fetch;

import io.farpage.bench.baseline.Perftest;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Rate;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** perftest on the same device: {@code ib_read_lat} for one page at a time, {@code ib_read_bw} for several. */
final class PerftestBaselineRunner implements BaselineRunner {
    private static final String BACKING = "one buffer, whose content is not checked";

    private final FetchPlan plan;
    private final Scenario scenario;
    private final Perftest perftest;
    private final List<FetchRound> latencies = new ArrayList<>();
    private final List<Rate> rates = new ArrayList<>();

    PerftestBaselineRunner(FetchPlan plan, Scenario scenario, RdmaPort port, Path scratch) {
        this.plan = plan;
        this.scenario = scenario;
        this.perftest = new Perftest(
                port.device(),
                port.gidIndex(),
                scenario.placement().nodeCpu(),
                plan.pageSize(),
                scenario.idle() == Idle.BLOCK,
                scratch);
    }

    @Override
    public void runRound(long fetches) throws InterruptedException {
        if (scenario.depth() == 1) {
            latencies.add(perftest.latency(fetches, plan.roundPatience()));
        } else {
            rates.add(perftest.rate(fetches, scenario.depth(), plan.roundPatience()));
        }
    }

    @Override
    public Baseline result() {
        String placement = "client cpu " + scenario.placement().nodeCpu();
        return scenario.depth() == 1
                ? new Baseline.Measured("ib_read_lat", placement, BACKING, latencies)
                : new Baseline.Rated("ib_read_bw", placement, BACKING, rates);
    }

    @Override
    public void close() {
        // Nothing of it runs between rounds.
    }
}
