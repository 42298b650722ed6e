package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.node.Answer;
import io.farpage.bench.node.NodeCommand;
import io.farpage.bench.process.Children;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.guest.command.CommandException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Measures one scenario: rounds of farpage and of the baseline alternate, and the process that is not measured is off the CPU. The order changes with
 * every round, so that a drift of the machine favours neither.
 */
final class FetchRounds {
    private static final int WARMUP_EXTENSION = 5;
    private static final double WARM_BYTES_PER_FETCH = 0.01;
    /** Share of the time: the rest of the process goes on being compiled now and then. */
    private static final double WARM_COMPILING = 0.1;

    private final FetchPlan plan;
    private final Scenario scenario;
    private final Baselines baselines;
    private final Consumer<String> progress;

    private final List<FetchRound> ours = new ArrayList<>();
    private final List<Double> allocatedBytesPerFetch = new ArrayList<>();
    private long cpuNs;
    private long fetches;
    private long replays;

    FetchRounds(FetchPlan plan, Scenario scenario, Baselines baselines, Consumer<String> progress) {
        this.plan = plan;
        this.scenario = scenario;
        this.baselines = baselines;
        this.progress = progress;
    }

    FetchRun measure(Children children, Coordinator coordinator) throws InterruptedException {
        progress.accept(scenario.name() + ": starting");
        try (Pair pair = Pair.start(children, plan, scenario, coordinator)) {
            progress.accept(scenario.name() + ": filling and checking " + plan.pages() + " pages");
            Answer.Filled filled = pair.fill(Duration.ofSeconds(60).plusMillis(plan.pages() * 20));
            if (filled.mismatches() > 0) {
                throw new CommandException("%d of %d pages were wrong after they were filled, the first: %s"
                        .formatted(filled.mismatches(), filled.pages(), filled.firstMismatch()));
            }
            if (plan.warmup().isPositive()) {
                warmUp(pair);
            }
            Baseline baseline = measureRounds(pair);
            return new FetchRun(
                    settings(pair),
                    ours,
                    baseline,
                    new Cost.OfFetches(median(allocatedBytesPerFetch), (double) cpuNs / fetches, replays));
        }
    }

    /**
     * Goes on for as long as was asked, and then, for a while, until fetches allocate nothing and the JIT compiler is idle: what is still
     * interpreted or half compiled does allocate, and on a busy machine the compiler takes its time.
     */
    private void warmUp(Pair pair) throws InterruptedException {
        progress.accept(scenario.name() + ": warming up");
        long started = System.nanoTime();
        long least = plan.warmup().toNanos();
        NodeCommand.Run stretch =
                new NodeCommand.Run(0, 0, Math.max(1, plan.warmup().toMillis() / 4));
        boolean warm = false;
        while (System.nanoTime() - started < (warm ? least : least * WARMUP_EXTENSION)) {
            Answer.Round answer = pair.run(stretch, plan.roundPatience().plus(plan.warmup()));
            warm = (double) answer.allocatedBytes() / answer.count() < WARM_BYTES_PER_FETCH
                    && answer.compiledMs() < WARM_COMPILING * stretch.millis();
        }
    }

    private Baseline measureRounds(Pair pair) throws InterruptedException {
        Optional<String> why = baselines.absent();
        if (why.isPresent()) {
            for (int round = 0; round < plan.rounds(); round++) {
                measureOurs(pair, round);
            }
            return new Baseline.Absent(why.get());
        }
        pair.pause();
        try (BaselineRunner baseline = baselines.start(plan, scenario)) {
            alternate(pair, baseline);
            return baseline.result();
        }
    }

    private void alternate(Pair pair, BaselineRunner baseline) throws InterruptedException {
        for (int round = 0; round < plan.rounds(); round++) {
            if (round % 2 == 1) {
                measureBaseline(baseline, round);
            }
            pair.resume();
            measureOurs(pair, round);
            pair.pause();
            if (round % 2 == 0) {
                measureBaseline(baseline, round);
            }
        }
    }

    private void measureOurs(Pair pair, int round) throws InterruptedException {
        show(round, "farpage");
        Answer.Round answer = pair.run(
                new NodeCommand.Run(
                        plan.settle(), plan.roundCount(), plan.roundTime().toMillis()),
                plan.roundPatience());
        ours.add(answer.measured());
        allocatedBytesPerFetch.add((double) answer.allocatedBytes() / answer.count());
        cpuNs += answer.cpuNs();
        fetches += answer.count();
        replays += answer.replays();
    }

    private void measureBaseline(BaselineRunner baseline, int round) throws InterruptedException {
        show(round, "baseline");
        baseline.runRound(ours.getLast().latencies().getTotalCount());
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    private void show(int round, String whose) {
        progress.accept("%s: round %d of %d, %s".formatted(scenario.name(), round + 1, plan.rounds(), whose));
    }

    private RunSettings settings(Pair pair) {
        return new RunSettings(
                scenario.name(),
                scenario.mode().label(),
                pair.ready().transport(),
                plan.pageSize(),
                scenario.depth(),
                plan.pattern().label(),
                scenario.placement().toString(),
                scenario.idle().label(),
                pair.backing(),
                plan.settle());
    }
}
