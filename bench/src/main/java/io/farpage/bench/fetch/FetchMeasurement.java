package io.farpage.bench.fetch;

import io.farpage.bench.command.MeasuredWorkload;
import io.farpage.bench.node.Answer;
import io.farpage.bench.node.NodeCommand;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.RunSettings;
import io.farpage.guest.command.CommandException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The fetching node in one scenario. */
final class FetchMeasurement implements MeasuredWorkload {
    private static final int WARMUP_EXTENSION = 5;
    private static final double WARM_BYTES_PER_FETCH = 0.01;
    /** Share of the time: the rest of the process goes on being compiled now and then. */
    private static final double WARM_COMPILING = 0.1;

    private final FetchPlan plan;
    private final Scenario scenario;
    private final Pair pair;
    private final List<Answer.Round> answers = new ArrayList<>();

    FetchMeasurement(FetchPlan plan, Scenario scenario, Pair pair) {
        this.plan = plan;
        this.scenario = scenario;
        this.pair = pair;
    }

    @Override
    public String name() {
        return scenario.name();
    }

    /** Writes every page to the home, and checks all of them. */
    void fill() throws InterruptedException {
        Answer.Filled filled = pair.fill(Duration.ofSeconds(60).plusMillis(plan.given().pages * 20));
        if (filled.mismatches() > 0) {
            throw new CommandException("%d of %d pages were wrong after they were filled, the first: %s"
                    .formatted(filled.mismatches(), filled.pages(), filled.firstMismatch()));
        }
    }

    /**
     * Goes on for as long as was asked, and then, for a while, until fetches allocate nothing and the JIT compiler is
     * idle: what is still interpreted or half compiled does allocate, and on a busy machine the compiler takes its
     * time.
     */
    void warmUp() throws InterruptedException {
        Duration warmup = plan.given().warmup;
        long started = System.nanoTime();
        NodeCommand.Run stretch = new NodeCommand.Run(0, 0, Math.max(1, warmup.toMillis() / 4));
        boolean warm = false;
        while (System.nanoTime() - started < warmup.toNanos() * (warm ? 1 : WARMUP_EXTENSION)) {
            Answer.Round answer = pair.run(stretch, plan.roundTimeout().plus(warmup));
            warm = (double) answer.allocatedBytes() / answer.count() < WARM_BYTES_PER_FETCH
                    && answer.compiledMs() < WARM_COMPILING * stretch.millis();
        }
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        Answer.Round answer = pair.run(
                new NodeCommand.Run(
                        FetchPlan.SETTLE, plan.roundCount(), plan.roundTime().toMillis()),
                plan.roundTimeout());
        answers.add(answer);
        return answer.measured();
    }

    @Override
    public List<Long> processes() {
        return pair.agents().processes();
    }

    @Override
    public Cost cost(List<Integer> kept) {
        List<Answer.Round> counted = kept.stream().map(answers::get).toList();
        List<Double> allocated = counted.stream()
                .map(answer -> (double) answer.allocatedBytes() / answer.count())
                .sorted()
                .toList();
        long cpuNs = counted.stream().mapToLong(Answer.Round::cpuNs).sum();
        long fetches = counted.stream().mapToLong(Answer.Round::count).sum();
        return new Cost.OfFetches(
                allocated.get(allocated.size() / 2),
                (double) cpuNs / fetches,
                counted.stream().mapToLong(Answer.Round::replays).sum());
    }

    @Override
    public RunSettings settings() {
        return new RunSettings(
                scenario.name(),
                scenario.mode().label(),
                pair.ready().transport(),
                plan.pageSize(),
                scenario.depth(),
                plan.given().pattern.label(),
                scenario.placement().toString(),
                scenario.idle().label(),
                pair.backing(),
                FetchPlan.SETTLE);
    }
}
