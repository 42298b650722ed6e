package io.farpage.bench.fetch;

import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.report.FetchRun;
import java.nio.file.Path;
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
                "Starts a coordinator and two agents here, fetches pages from one into the other, checks them, and"
                        + " compares with another program: a C program that does the same over TCP, or perftest on RDMA.")
public final class FetchCommand extends MeasuringCommand<FetchPlan> {
    @Mixin
    private final FetchOptions options = new FetchOptions();

    @Override
    protected FetchPlan plan(List<Integer> allowedCpus, Path defaultReport) {
        return FetchPlan.of(options, allowedCpus, defaultReport);
    }

    @Override
    protected List<FetchRun> measure(FetchPlan plan, Running running) throws InterruptedException {
        running.progress().show("building the baseline");
        Baselines baselines = Baselines.prepare(plan, running.children().scratch());
        List<FetchRun> runs = new ArrayList<>();
        for (Scenario scenario : plan.scenarios()) {
            FetchRounds rounds = new FetchRounds(plan, scenario, baselines, running.progress()::show);
            runs.add(rounds.measure(running.children(), running.coordinator()));
        }
        return runs;
    }
}
