package io.farpage.bench.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.progress.Progress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

final class RoundsTest {
    private final List<String> order = new ArrayList<>();
    private final List<FetchRound> theirs = new ArrayList<>();

    @Test
    void shouldSwapTheOrderOfBothSidesWithEveryRound() throws InterruptedException {
        FetchRun run = Rounds.measure(new Workload(), new Reference(), 3, Progress.none());

        assertEquals(List.of("farpage 0", "baseline 0", "baseline 1", "farpage 1", "farpage 2", "baseline 2"), order);
        assertEquals(3, run.rounds().size());
    }

    @Test
    void shouldTellTheBaselineHowManyFetchesFarpageDidLast() throws InterruptedException {
        Rounds.measure(new Workload(), new Reference(), 2, Progress.none());

        assertEquals(
                List.of(1L, 1L),
                theirs.stream().map(round -> round.latencies().getTotalCount()).toList());
    }

    @Test
    void shouldRunAllRoundsOfFarpageWhenTheBaselineIsAbsent() throws InterruptedException {
        FetchRun run = Rounds.measure(new Workload(), BaselineRunner.absent("no compiler"), 3, Progress.none());

        assertEquals(List.of("farpage 0", "farpage 1", "farpage 2"), order);
        assertEquals(new Baseline.Absent("no compiler"), run.baseline());
    }

    private static FetchRound round(long fetches) {
        Histogram latencies = FetchRound.newHistogram();
        latencies.recordValueWithCount(1000, fetches);
        return new FetchRound(latencies, 0, Duration.ofMillis(1));
    }

    private final class Workload implements MeasuredWorkload {
        @Override
        public String name() {
            return "test";
        }

        @Override
        public FetchRound run(int round) {
            order.add("farpage " + round);
            return round(round + 1);
        }

        @Override
        public RunSettings settings() {
            return new RunSettings("test", "latency", "soft", 4096, 1, "random", "cpu 0", "block", "4k", 0);
        }

        @Override
        public Cost cost() {
            return new Cost.OfFetches(0, 0, 0);
        }
    }

    private final class Reference implements BaselineRunner {
        @Override
        public void run(int round, long fetches) {
            order.add("baseline " + round);
            theirs.add(round(fetches));
        }

        @Override
        public Baseline result() {
            return new Baseline.Measured("reference", "cpu 0", "4k", theirs);
        }
    }
}
