package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Turn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The C program that fetches pages over TCP. */
final class CBaselineRunner implements BaselineRunner {
    private final FetchPlan plan;
    private final Pair pair;
    private final BaselineProcess process;
    private BaselineProcess.@Nullable Measured last;

    private CBaselineRunner(FetchPlan plan, Pair pair, BaselineProcess process) {
        this.plan = plan;
        this.pair = pair;
        this.process = process;
    }

    static CBaselineRunner start(Path program, FetchPlan plan, Scenario scenario, Pair pair)
            throws InterruptedException {
        FetchOptions given = plan.given();
        BaselineSettings settings = new BaselineSettings(
                scenario.idle().baseline(),
                scenario.depth(),
                plan.pageSize(),
                given.pages,
                given.pattern,
                given.zipfExponent,
                given.verify,
                OptionalInt.of(scenario.placement().nodeCpu()),
                OptionalInt.of(scenario.placement().homeCpu()),
                true,
                given.run.seed(),
                FetchPlan.SETTLE);
        return new CBaselineRunner(
                plan,
                pair,
                pair.agents()
                        .whilePaused(() -> BaselineProcess.start(program, settings, BaselineProcess.START_TIMEOUT)));
    }

    @Override
    public FetchRound run(int round, long fetches) throws InterruptedException {
        Duration timeout = plan.roundTimeout();
        BaselineProcess.Measured measured = pair.agents()
                .whilePaused(() -> plan.roundCount() > 0
                        ? process.run(plan.roundCount(), timeout)
                        : process.runFor(plan.roundTime(), timeout));
        last = measured;
        return measured.round();
    }

    @Override
    public List<Long> processes() {
        return process.processes();
    }

    @Override
    public Baseline result(List<Turn> turns) {
        return Objects.requireNonNull(last, "no round was run").of(turns);
    }

    @Override
    public void close() {
        process.close();
    }
}
