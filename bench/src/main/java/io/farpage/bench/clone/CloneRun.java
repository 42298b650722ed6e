package io.farpage.bench.clone;

import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.command.MeasuredWorkload;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.RunSettings;
import io.farpage.bench.report.Turn;
import java.util.List;

/**
 * A side that is measured.
 *
 * @param mode {@code start} or {@code touch}
 * @param depth processes that touch pages at once
 * @param warmup touches of each round that are not recorded
 */
record CloneRun(Bench bench, Side side, String mode, int depth, long warmup) implements MeasuredWorkload {
    @Override
    public String name() {
        return side.name();
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        return side.run(round);
    }

    @Override
    public RunSettings settings() throws InterruptedException {
        return new RunSettings(
                side.name(),
                mode,
                bench.agents().transport(),
                ClonePlan.PAGE_BYTES,
                depth,
                "random",
                bench.plan().placement().toString(),
                bench.plan().idle().label(),
                bench.agents().backing(),
                warmup);
    }

    @Override
    public Cost cost(List<Integer> kept) {
        return side.cost();
    }

    /** A side that another is compared with. */
    static BaselineRunner baseline(Bench bench, Side side) {
        return new BaselineRunner() {
            @Override
            public FetchRound run(int round, long fetches) throws InterruptedException {
                return side.run(round);
            }

            @Override
            public Baseline result(List<Turn> turns) {
                return Baseline.of(side.name(), bench.plan().placement().toString(), side.backing(), turns);
            }
        };
    }
}
