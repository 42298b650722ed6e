package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.report.Baseline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/** The C program that fetches pages over TCP. */
final class CBaselineRunner implements BaselineRunner {
    private static final Duration START = Duration.ofSeconds(60);

    private final FetchPlan plan;
    private final BaselineProcess process;
    private final List<BaselineProcess.Measured> rounds = new ArrayList<>();

    private CBaselineRunner(FetchPlan plan, BaselineProcess process) {
        this.plan = plan;
        this.process = process;
    }

    static CBaselineRunner start(BaselineProgram.Built program, FetchPlan plan, Scenario scenario)
            throws InterruptedException {
        return new CBaselineRunner(plan, BaselineProcess.start(program.program(), settings(plan, scenario), START));
    }

    private static BaselineSettings settings(FetchPlan plan, Scenario scenario) {
        return new BaselineSettings(
                scenario.idle().baseline(),
                scenario.depth(),
                plan.pageSize(),
                plan.pages(),
                plan.pattern(),
                plan.zipfExponent(),
                plan.verification(),
                OptionalInt.of(scenario.placement().nodeCpu()),
                OptionalInt.of(scenario.placement().homeCpu()),
                true,
                plan.seed(),
                plan.settle());
    }

    @Override
    public void runRound(long fetches) throws InterruptedException {
        rounds.add(
                plan.roundCount() > 0
                        ? process.run(plan.roundCount(), plan.roundPatience())
                        : process.runFor(plan.roundTime(), plan.roundPatience()));
    }

    @Override
    public Baseline result() {
        BaselineProcess.Measured any = rounds.getFirst();
        return new Baseline.Measured(
                any.name(),
                any.placement(),
                any.backing(),
                rounds.stream().map(BaselineProcess.Measured::round).toList());
    }

    @Override
    public void close() {
        process.close();
    }
}
