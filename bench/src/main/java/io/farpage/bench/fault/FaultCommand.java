package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Progress;
import io.farpage.bench.report.FetchRun;
import io.farpage.guest.command.CommandException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench fault}. */
@Command(
        name = "fault",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents here, has a process touch memory that one of them pages from the other, checks"
                        + " what it finds there, and compares with a C program that does the same.")
public final class FaultCommand extends MeasuringCommand<FaultPlan> {
    private static final Duration COMPILER_TIMEOUT = Duration.ofSeconds(60);
    private static final Duration BASELINE_START = Duration.ofSeconds(60);

    @Mixin
    private final FaultOptions options = new FaultOptions();

    @Override
    protected FaultPlan plan(List<Integer> allowedCpus, Path defaultReport) {
        return FaultPlan.of(options, allowedCpus, defaultReport);
    }

    @Override
    protected List<FetchRun> measure(FaultPlan plan, Running running) throws InterruptedException {
        running.progress().show("building the C programs");
        FaultToucher toucher = new FaultToucher(build(BaselineProgram.TOUCHER, plan), running.children());
        List<FetchRun> runs = new ArrayList<>();
        for (Idle idle :
                plan.scenarios().stream().map(FaultScenario::idle).distinct().toList()) {
            runs.addAll(measure(plan, idle, running, toucher));
        }
        return runs;
    }

    private static Path build(String program, FaultPlan plan) throws InterruptedException {
        return switch (BaselineProgram.build(program, plan.report().resolve("baseline"), COMPILER_TIMEOUT)) {
            case BaselineProgram.Built(Path built, Path _) -> built;
            case BaselineProgram.Unavailable(String reason) ->
                throw new CommandException("what touches the memory is a C program: " + reason);
        };
    }

    private static List<FetchRun> measure(FaultPlan plan, Idle idle, Running running, FaultToucher toucher)
            throws InterruptedException {
        Children children = running.children();
        Progress progress = running.progress();
        List<FaultScenario> scenarios = plan.scenarios().stream()
                .filter(scenario -> scenario.idle() == idle)
                .toList();
        FaultPlacement placement = scenarios.getFirst().placement();
        List<FetchRun> runs = new ArrayList<>();
        progress.show(idle.label() + ": starting agents, filling " + plan.pages() + " pages");
        try (FaultAgents agents = FaultAgents.start(children, running.coordinator(), plan, idle, placement, toucher)) {
            List<FaultRounds> rounds = scenarios.stream()
                    .map(scenario -> new FaultRounds(plan, scenario, agents, toucher, progress::show))
                    .toList();
            progress.show(idle.label() + ": warming up");
            warmUp(plan, rounds);
            Optional<FaultHandler> handler = Optional.empty();
            try {
                if (plan.withBaseline()
                        && scenarios.stream()
                                .anyMatch(scenario -> scenario.kind().isAgainstC())) {
                    handler = Optional.of(startHandler(plan, idle, placement, children));
                }
                for (FaultRounds one : rounds) {
                    runs.add(one.measure(handler));
                }
            } finally {
                handler.ifPresent(FaultHandler::close);
            }
        }
        return runs;
    }

    /** All that will be measured, one after another, until the time is over. */
    private static void warmUp(FaultPlan plan, List<FaultRounds> rounds) throws InterruptedException {
        long deadline = System.nanoTime() + plan.warmup().toNanos();
        for (int i = 0; System.nanoTime() - deadline < 0; i++) {
            rounds.get(i % rounds.size()).warmUp();
        }
    }

    private static FaultHandler startHandler(FaultPlan plan, Idle idle, FaultPlacement placement, Children children)
            throws InterruptedException {
        return FaultHandler.start(
                children,
                build(BaselineProgram.FAULT, plan),
                children.scratch().resolve("c-" + idle.label() + ".sock"),
                new BaselineSettings(
                        idle.baseline(),
                        1,
                        FaultPlan.PAGE_BYTES,
                        plan.pages(),
                        PagePattern.RANDOM,
                        1,
                        Verification.NONE,
                        OptionalInt.of(placement.handlerCpu()),
                        OptionalInt.of(placement.homeCpu()),
                        true,
                        plan.seed(),
                        0),
                BASELINE_START);
    }
}
