package io.farpage.bench.command;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.progress.Progress;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures one scenario: rounds of farpage and of the baseline alternate. Which comes first changes with every round,
 * so that a drift of the machine favours neither.
 */
public final class Rounds {
    private Rounds() {}

    /** How much {@link #measure} advances a progress by, in rounds of one side. */
    public static long of(int scenarios, int rounds) {
        return 2L * scenarios * rounds;
    }

    /** Runs {@code rounds} of each. */
    public static FetchRun measure(MeasuredWorkload workload, BaselineRunner baseline, int rounds, Progress progress)
            throws InterruptedException {
        List<FetchRound> measured = new ArrayList<>();
        for (int side = 0; side < 2 * rounds; side++) {
            int round = side / 2;
            boolean isFarpage = side % 4 == 0 || side % 4 == 3;
            progress.label("%s: round %d of %d, %s"
                    .formatted(workload.name(), round + 1, rounds, isFarpage ? "farpage" : "baseline"));
            if (isFarpage) {
                measured.add(workload.run(round));
            } else {
                baseline.run(round, measured.getLast().latencies().getTotalCount());
            }
            progress.advance(1);
        }
        return new FetchRun(workload.settings(), measured, baseline.result(), workload.cost());
    }
}
