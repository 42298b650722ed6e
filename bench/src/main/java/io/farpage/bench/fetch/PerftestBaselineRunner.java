package io.farpage.bench.fetch;

import io.farpage.bench.baseline.Perftest;
import io.farpage.bench.baseline.RdmaPort;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Turn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** perftest on the same device: {@code ib_read_lat} for one page at a time, {@code ib_read_bw} for several. */
final class PerftestBaselineRunner implements BaselineRunner {
    private static final String BACKING = "one buffer, whose content is not checked";

    private final Scenario scenario;
    private final Pair pair;
    private final Duration timeout;
    private final Perftest perftest;

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
    public Turn run(int round, long fetches) throws InterruptedException {
        return pair.agents()
                .whilePaused(() -> scenario.depth() == 1
                        ? perftest.latency(fetches, timeout)
                        : perftest.rate(fetches, scenario.depth(), timeout));
    }

    @Override
    public Baseline result(List<Turn> turns) {
        String placement = "client cpu " + scenario.placement().nodeCpu();
        return Baseline.of(scenario.depth() == 1 ? "ib_read_lat" : "ib_read_bw", placement, BACKING, turns);
    }
}
