package io.farpage.bench.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.bench.report.Turn;
import io.farpage.bench.stall.Contention;
import io.farpage.bench.stall.CpuWatch;
import io.farpage.progress.Progress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

final class RoundsTest {
    private final List<String> order = new ArrayList<>();
    private final List<FetchRound> theirs = new ArrayList<>();
    private List<Integer> kept = List.of();
    private boolean isInTime = true;

    @Test
    void shouldSwapTheOrderOfBothSidesWithEveryRound() throws InterruptedException {
        FetchRun run = rounds(quiet()).measure(new Workload(), new Reference(), 3);

        assertEquals(List.of("farpage 0", "baseline 0", "baseline 1", "farpage 1", "farpage 2", "baseline 2"), order);
        assertEquals(3, run.rounds().size());
    }

    @Test
    void shouldTellTheBaselineHowManyFetchesFarpageDidLast() throws InterruptedException {
        rounds(quiet()).measure(new Workload(), new Reference(), 2);

        assertEquals(
                List.of(1L, 1L),
                theirs.stream().map(round -> round.latencies().getTotalCount()).toList());
    }

    @Test
    void shouldRunAllRoundsOfFarpageWhenTheBaselineIsAbsent() throws InterruptedException {
        FetchRun run = rounds(quiet()).measure(new Workload(), BaselineRunner.absent("no compiler"), 3);

        assertEquals(List.of("farpage 0", "farpage 1", "farpage 2"), order);
        assertEquals(new Baseline.Absent("no compiler"), run.baseline());
    }

    @Test
    void shouldReplaceARoundInWhichOneSideWasStalled() throws InterruptedException {
        FetchRun run = rounds(stalling(2, 3)).measure(new Workload(), new Reference(), 6);

        assertEquals(14, order.size(), "seven rounds of both sides");
        assertEquals(6, run.rounds().size());
        assertEquals(
                List.of(1L, 3L, 4L, 5L, 6L, 7L),
                run.rounds().stream()
                        .map(round -> round.latencies().getTotalCount())
                        .toList());
        assertEquals(6, ((Baseline.Measured) run.baseline()).rounds().size());
        assertEquals(List.of(0, 2, 3, 4, 5, 6), kept);
        assertEquals(6, run.screening().asked());
        assertEquals(1, run.screening().dropped().size());
        assertTrue(
                run.screening().dropped().getFirst().startsWith("round 2: "),
                run.screening().dropped().getFirst());
    }

    @Test
    void shouldReplaceAtMostHalfOfTheRounds() throws InterruptedException {
        List<Integer> always = new ArrayList<>(List.of(0, 1));
        IntStream.range(12, 100).forEach(always::add);
        FetchRun run = rounds(stalling(always)).measure(new Workload(), new Reference(), 6);

        assertEquals(18, order.size(), "nine rounds of both sides");
        assertEquals(5, run.rounds().size());
        assertEquals(4, run.screening().dropped().size());
    }

    @Test
    void shouldReplaceNoRoundWhenTheTimeIsOver() throws InterruptedException {
        isInTime = false;
        FetchRun run = rounds(stalling(2, 3)).measure(new Workload(), new Reference(), 6);

        assertEquals(12, order.size());
        assertEquals(5, run.rounds().size());
    }

    @Test
    void shouldEndARunWithItsSixthRoundWhenTheTimeIsOver() throws InterruptedException {
        isInTime = false;
        FetchRun run = rounds(quiet()).measure(new Workload(), new Reference(), 9);

        assertEquals(6, run.rounds().size());
        assertEquals(9, run.screening().asked());
    }

    @Test
    void shouldReverseTheOrderOfManySides() throws InterruptedException {
        Rounds.Taken taken = rounds(quiet()).alternate("test", List.of(side("a"), side("b"), side("c")), 2);

        assertEquals(List.of("a 0", "b 0", "c 0", "c 1", "b 1", "a 1"), order);
        assertEquals(List.of(0, 1), taken.kept());
    }

    private ComparedSide side(String label) {
        return new ComparedSide() {
            @Override
            public String label() {
                return label;
            }

            @Override
            public Turn run(int round) {
                order.add(label + " " + round);
                return round(1);
            }

            @Override
            public List<Long> processes() {
                return List.of();
            }
        };
    }

    private Rounds rounds(CpuWatch watch) {
        return new Rounds(Progress.none(), watch, () -> isInTime);
    }

    private static CpuWatch quiet() {
        return stalling();
    }

    private static CpuWatch stalling(Integer... turns) {
        return stalling(List.of(turns));
    }

    /** In which turns, counted from 0, threads wait for a CPU. */
    private static CpuWatch stalling(List<Integer> turns) {
        AtomicInteger turn = new AtomicInteger();
        return processes -> {
            double waited = turns.contains(turn.getAndIncrement()) ? 0.6 : 0.1;
            return ended -> new Contention(OptionalDouble.empty(), OptionalDouble.of(waited), 0);
        };
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
        public Cost cost(List<Integer> counted) {
            kept = counted;
            return new Cost.OfFetches(0, 0, 0);
        }
    }

    private final class Reference implements BaselineRunner {
        @Override
        public FetchRound run(int round, long fetches) {
            order.add("baseline " + round);
            theirs.add(round(fetches));
            return theirs.getLast();
        }

        @Override
        public Baseline result(List<Turn> turns) {
            return Baseline.of("reference", "cpu 0", "4k", turns);
        }
    }
}
