package io.farpage.bench.fetch;

import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.report.FetchRun;
import io.farpage.progress.Progress;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench fetch}. */
@Command(
        name = "fetch",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine, fetches pages of one agent into the other, checks"
                        + " them, and compares the times with a C program that does the same over TCP, or with perftest"
                        + " over RDMA.")
public final class FetchCommand extends MeasuringCommand<FetchPlan> {
    @Mixin
    private final FetchOptions options = new FetchOptions();

    @Override
    protected FetchPlan plan(List<Integer> allowedCpus) {
        return FetchPlan.of(options, allowedCpus);
    }

    @Override
    protected List<FetchRun> measure(FetchPlan plan, Running running) throws InterruptedException {
        Progress progress = running.progress();
        progress.label("building the baseline");
        Baselines baselines = Baselines.prepare(plan, running.children());
        List<FetchRun> runs = new ArrayList<>();
        for (Scenario scenario : plan.scenarios()) {
            progress.label(scenario.name() + ": starting");
            try (Pair pair = Pair.start(running.children(), plan, scenario, running.coordinator())) {
                FetchMeasurement measurement = new FetchMeasurement(plan, scenario, pair);
                progress.label(scenario.name() + ": filling and checking " + options.pages + " pages");
                measurement.fill();
                progress.label(scenario.name() + ": warming up");
                measurement.warmUp();
                try (BaselineRunner baseline = baselines.start(scenario, pair)) {
                    runs.add(running.rounds().measure(measurement, baseline, plan.rounds()));
                }
            }
        }
        return runs;
    }
}
