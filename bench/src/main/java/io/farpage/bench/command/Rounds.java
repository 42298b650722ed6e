package io.farpage.bench.command;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.Screening;
import io.farpage.bench.report.Turn;
import io.farpage.bench.stall.CpuWatch;
import io.farpage.bench.stall.StallRule;
import io.farpage.progress.Progress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/**
 * Measures runs: in each round every side has its turn. The order is reversed with every round, so that a drift of the
 * machine favours none. Rounds that were {@linkplain StallRule stalled} are replaced, at most half as many as were
 * asked for, and only while there is time. When the time is over, a run ends with its sixth round. Used by one thread.
 */
public final class Rounds {
    private final Progress progress;
    private final CpuWatch watch;
    private final BooleanSupplier isInTime;

    /** @param isInTime whether there is time for more rounds than the fewest that can be judged */
    Rounds(Progress progress, CpuWatch watch, BooleanSupplier isInTime) {
        this.progress = progress;
        this.watch = watch;
        this.isInTime = isInTime;
    }

    /**
     * What a run gave.
     *
     * @param kept numbers of the rounds that count, at least one
     */
    public record Taken(List<Integer> kept, Screening screening) {
        /** What the rounds that count gave, out of what each round gave. */
        public <T> List<T> of(List<T> all) {
            return kept.stream().map(all::get).toList();
        }
    }

    /** Compares a workload with its baseline. */
    public FetchRun measure(MeasuredWorkload workload, BaselineRunner baseline, int rounds)
            throws InterruptedException {
        List<FetchRound> ours = new ArrayList<>();
        List<Turn> theirs = new ArrayList<>();
        List<ComparedSide> sides = new ArrayList<>();
        sides.add(new ComparedSide() {
            @Override
            public String label() {
                return "farpage";
            }

            @Override
            public Turn run(int round) throws InterruptedException {
                ours.add(workload.run(round));
                return ours.getLast();
            }

            @Override
            public List<Long> processes() {
                return workload.processes();
            }
        });
        if (!baseline.isAbsent()) {
            sides.add(new ComparedSide() {
                @Override
                public String label() {
                    return "baseline";
                }

                @Override
                public Turn run(int round) throws InterruptedException {
                    theirs.add(baseline.run(round, ours.getLast().latencies().getTotalCount()));
                    return theirs.getLast();
                }

                @Override
                public List<Long> processes() {
                    return baseline.processes();
                }
            });
        }
        Taken taken = alternate(workload.name(), sides, rounds);
        return new FetchRun(
                workload.settings(),
                taken.of(ours),
                baseline.result(baseline.isAbsent() ? List.of() : taken.of(theirs)),
                workload.cost(taken.kept()),
                taken.screening());
    }

    /**
     * Runs each side once in every round.
     *
     * @param name of the run
     * @param sides at least one
     * @param rounds asked for
     */
    public Taken alternate(String name, List<ComparedSide> sides, int rounds) throws InterruptedException {
        List<StallRule.Side> contention = sides.stream()
                .map(side -> new StallRule.Side(side.label(), new ArrayList<>()))
                .toList();
        for (int round = 0; round < rounds && (round < StallRule.FEWEST || isInTime.getAsBoolean()); round++) {
            takeTurns("%s: round %d of %d".formatted(name, round + 1, rounds), sides, contention, round);
            progress.advance(1);
        }
        List<Optional<String>> stalled = StallRule.stalled(contention);
        int most = rounds + (rounds + 1) / 2;
        while (kept(stalled).size() < rounds && stalled.size() < most && isInTime.getAsBoolean()) {
            int round = stalled.size();
            takeTurns(name + ": round " + (round + 1) + ", for a stalled one", sides, contention, round);
            stalled = StallRule.stalled(contention);
        }
        List<Integer> kept = kept(stalled);
        List<String> dropped = new ArrayList<>();
        for (int round = 0; round < stalled.size(); round++) {
            String number = "round " + (round + 1) + ": ";
            stalled.get(round).ifPresent(reason -> dropped.add(number + reason));
        }
        // Medians leave half of the rounds below each bound, but not the same half below all of them.
        List<Integer> counted =
                kept.isEmpty() ? IntStream.range(0, stalled.size()).boxed().toList() : kept;
        return new Taken(
                counted,
                new Screening(rounds, kept.isEmpty() ? List.of() : dropped, judgedBy(contention, kept.isEmpty())));
    }

    private static String judgedBy(List<StallRule.Side> contention, boolean allStalled) {
        return StallRule.judgedBy(contention) + (allStalled ? "; ALL ROUNDS WERE STALLED, and all are counted" : "");
    }

    private static List<Integer> kept(List<Optional<String>> stalled) {
        return IntStream.range(0, stalled.size())
                .filter(round -> stalled.get(round).isEmpty())
                .boxed()
                .toList();
    }

    private void takeTurns(String label, List<ComparedSide> sides, List<StallRule.Side> contention, int round)
            throws InterruptedException {
        for (int i = 0; i < sides.size(); i++) {
            int at = round % 2 == 0 ? i : sides.size() - 1 - i;
            ComparedSide side = sides.get(at);
            progress.label(label + ", " + side.label());
            CpuWatch.Watched watched = watch.begin(side.processes());
            Turn turn = side.run(round);
            contention.get(at).rounds().add(watched.end(turn.scheduling()));
        }
    }
}
