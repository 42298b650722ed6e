package io.farpage.bench.fetch;

import io.farpage.bench.baseline.Perftest;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Rate;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** perftest on the same device: {@code ib_read_lat} for one page at a time, {@code ib_read_bw} for several. */
final class PerftestBaselineRunner implements BaselineRunner {
    private static final String BACKING = "one buffer, whose content is not checked";

    private final Scenario scenario;
    private final Pair pair;
    private final Duration timeout;
    private final Perftest perftest;
    private final List<FetchRound> latencies = new ArrayList<>();
    private final List<Rate> rates = new ArrayList<>();

    PerftestBaselineRunner(FetchPlan plan, Scenario scenario, Pair pair, Path scratch) {
        this.scenario = scenario;
        this.pair = pair;
        this.timeout = plan.roundTimeout();
        RdmaPort port = plan.rdma().orElseThrow();
        this.perftest = new Perftest(
                port.device(),
                port.gidIndex(),
                scenario.placement().nodeCpu(),
                plan.pageSize(),
                scenario.idle() == Idle.BLOCK,
                scratch);
    }

    @Override
    public void run(int round, long fetches) throws InterruptedException {
        if (scenario.depth() == 1) {
            latencies.add(pair.agents().whilePaused(() -> perftest.latency(fetches, timeout)));
        } else {
            rates.add(pair.agents().whilePaused(() -> perftest.rate(fetches, scenario.depth(), timeout)));
        }
    }

    @Override
    public Baseline result() {
        String placement = "client cpu " + scenario.placement().nodeCpu();
        return scenario.depth() == 1
                ? new Baseline.Measured("ib_read_lat", placement, BACKING, latencies)
                : new Baseline.Rated("ib_read_bw", placement, BACKING, rates);
    }
}
