package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.report.FetchRun;
import io.farpage.progress.Progress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench fault}. */
@Command(
        name = "fault",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine. A process touches memory whose pages one agent"
                        + " fetches from the other, and checks them. Compares the times with a C program that does the"
                        + " same.")
public final class FaultCommand extends MeasuringCommand<FaultPlan> {
    @Mixin
    private final FaultOptions options = new FaultOptions();

    @Override
    protected FaultPlan plan(List<Integer> allowedCpus) {
        return FaultPlan.of(options, allowedCpus);
    }

    @Override
    protected List<FetchRun> measure(FaultPlan plan, Running running) throws InterruptedException {
        running.progress().label("building the C programs");
        Handlers handlers = new Handlers(plan, running.children());
        FaultToucher toucher = new FaultToucher(handlers.build(BaselineProgram.TOUCHER), running.children());
        Map<Idle, List<FaultScenario>> byIdle = plan.scenarios().stream()
                .collect(Collectors.groupingBy(FaultScenario::idle, LinkedHashMap::new, Collectors.toList()));
        List<FetchRun> runs = new ArrayList<>();
        for (List<FaultScenario> scenarios : byIdle.values()) {
            runs.addAll(measure(plan, scenarios, running, handlers, toucher));
        }
        return runs;
    }

    private static List<FetchRun> measure(
            FaultPlan plan, List<FaultScenario> scenarios, Running running, Handlers handlers, FaultToucher toucher)
            throws InterruptedException {
        FaultScenario first = scenarios.getFirst();
        String idle = first.idle().label();
        Progress progress = running.progress();
        List<FetchRun> runs = new ArrayList<>();
        progress.label(idle + ": starting agents, filling " + plan.given().pages + " pages");
        try (FaultAgents agents = new FaultAgents(running, plan, first, toucher)) {
            List<FaultMeasurement> measurements = scenarios.stream()
                    .map(scenario -> new FaultMeasurement(plan, scenario, agents))
                    .toList();
            progress.label(idle + ": warming up");
            warmUp(plan, measurements);
            boolean needsHandler = !plan.run().noBaseline()
                    && scenarios.stream().anyMatch(scenario -> scenario.kind().isAgainstC());
            Optional<FaultHandler> handler =
                    needsHandler ? Optional.of(handlers.start(first, "c", List.of())) : Optional.empty();
            try {
                for (int i = 0; i < scenarios.size(); i++) {
                    BaselineRunner baseline = FaultBaseline.of(plan, scenarios.get(i), agents, handler);
                    runs.add(running.rounds().measure(measurements.get(i), baseline, plan.rounds()));
                }
            } finally {
                handler.ifPresent(FaultHandler::close);
            }
        }
        return runs;
    }

    /** All that will be measured, one after another, until the time is over. */
    private static void warmUp(FaultPlan plan, List<FaultMeasurement> measurements) throws InterruptedException {
        long deadline = System.nanoTime() + plan.given().warmup.toNanos();
        for (int i = 0; System.nanoTime() - deadline < 0; i++) {
            measurements.get(i % measurements.size()).warmUp();
        }
    }
}
