package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.process.Children;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Turn;
import java.util.List;

/**
 * Another pair of agents on the same CPUs, with a coordinator of its own, without encryption. One pair is off the CPU
 * while the other is measured.
 */
final class PlainBaselineRunner implements BaselineRunner {
    private final Scenario scenario;
    private final Pair measured;
    private final Coordinator coordinator;
    private final Pair plain;
    private final FetchMeasurement measurement;

    private PlainBaselineRunner(FetchPlan plan, Scenario scenario, Pair measured, Coordinator coordinator, Pair plain) {
        this.scenario = scenario;
        this.measured = measured;
        this.coordinator = coordinator;
        this.plain = plain;
        this.measurement = new FetchMeasurement(plan, scenario, plain);
    }

    /** Starts the pair, fills its pages and warms it up. */
    static PlainBaselineRunner start(FetchPlan plan, Scenario scenario, Pair measured, Children children)
            throws InterruptedException {
        Scenario plain = scenario.plain();
        return measured.agents().whilePaused(() -> {
            Coordinator coordinator = Coordinator.start(children, "coordinator-" + plain.name());
            PlainBaselineRunner runner = new PlainBaselineRunner(
                    plan, plain, measured, coordinator, Pair.start(children, plan, plain, coordinator));
            runner.measurement.fill();
            runner.measurement.warmUp();
            runner.plain.agents().pause();
            return runner;
        });
    }

    @Override
    public FetchRound run(int round, long fetches) throws InterruptedException {
        return measured.agents().whilePaused(() -> {
            plain.agents().resume();
            FetchRound done = measurement.run(round);
            plain.agents().pause();
            return done;
        });
    }

    @Override
    public List<Long> processes() {
        return plain.agents().processes();
    }

    @Override
    public Baseline result(List<Turn> turns) {
        return Baseline.of(
                "farpage-plain-" + scenario.idle().label(), scenario.placement().toString(), plain.backing(), turns);
    }

    @Override
    public void close() {
        plain.close();
        coordinator.close();
    }
}
