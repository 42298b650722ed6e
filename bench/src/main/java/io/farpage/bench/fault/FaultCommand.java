package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.BenchException;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.bench.process.Progress;
import io.farpage.bench.report.Conditions;
import io.farpage.bench.report.FetchReport;
import io.farpage.bench.report.FetchResult;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.ReportFiles;
import io.farpage.bench.report.ReportTable;
import io.farpage.bench.report.Subject;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code page-bench fault}. */
@Command(
        name = "fault",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents here, has a process touch memory that one of them pages from the other, checks"
                        + " what it finds there, and compares with a C program that does the same.")
public final class FaultCommand implements Callable<Integer> {
    private static final Duration COMPILER_PATIENCE = Duration.ofSeconds(60);
    private static final Duration BASELINE_START = Duration.ofSeconds(60);
    private static final int WRONG = 1;

    @Mixin
    private final FaultOptions options = new FaultOptions();

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Path root = Installation.root();
        FaultPlan plan;
        try {
            plan = FaultPlan.of(options, Cpus.allowed(), Installation.defaultReport());
        } catch (IllegalArgumentException e) {
            throw new ParameterException(
                    spec == null ? new CommandLine(this) : spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
        FetchReport report = measure(plan, root);
        System.out.print(ReportTable.render(report));
        try {
            ReportFiles.write(report, plan.report());
        } catch (IOException e) {
            throw new BenchException("cannot write the report into " + plan.report() + ": " + e, e);
        }
        System.out.println("report: " + plan.report().resolve("fault.html"));
        long wrong =
                report.results().stream().mapToLong(FetchResult::mismatches).sum();
        if (wrong > 0) {
            System.err.println("page-bench: " + wrong + " touched pages did not hold what they should");
            return WRONG;
        }
        return 0;
    }

    private static FetchReport measure(FaultPlan plan, Path root) throws InterruptedException {
        Conditions conditions = Conditions.here(plan.seed(), root);
        plan.skipped().forEach(why -> System.out.println("left out: " + why));
        List<FetchRun> runs = new ArrayList<>();
        try (Children children =
                        Children.open(Programs.ofThisJvm(), plan.report().resolve("logs"));
                HugepageReservation hugepages =
                        HugepageReservation.additional(HugepageSize.TWO_MIB, FaultFlags.hugepages(plan));
                Progress progress = Progress.onStandardOutput()) {
            children.borrowed(hugepages.borrowed());
            if (!hugepages.isSufficient()) {
                System.out.println(hugepages.description());
            }
            progress.show("building the C programs, starting the coordinator");
            FaultToucher toucher = new FaultToucher(build(BaselineProgram.TOUCHER, plan), children);
            try (Coordinator coordinator = Coordinator.start(children)) {
                for (Idle idle : plan.scenarios().stream()
                        .map(FaultScenario::idle)
                        .distinct()
                        .toList()) {
                    runs.addAll(measure(plan, idle, children, coordinator, toucher, progress));
                }
            } catch (BenchException e) {
                if (children.isEnding()) {
                    // The signal that is ending this process has ended the others: no news.
                    Thread.sleep(Duration.ofSeconds(10));
                }
                throw e;
            }
        }
        return new FetchReport(Subject.FAULT, conditions, runs);
    }

    private static Path build(String program, FaultPlan plan) throws InterruptedException {
        return switch (BaselineProgram.build(program, plan.report().resolve("baseline"), COMPILER_PATIENCE)) {
            case BaselineProgram.Built(Path built, Path _) -> built;
            case BaselineProgram.Unavailable(String reason) ->
                throw new BenchException("what touches the memory is a C program: " + reason);
        };
    }

    private static List<FetchRun> measure(
            FaultPlan plan,
            Idle idle,
            Children children,
            Coordinator coordinator,
            FaultToucher toucher,
            Progress progress)
            throws InterruptedException {
        List<FaultScenario> scenarios = plan.scenarios().stream()
                .filter(scenario -> scenario.idle() == idle)
                .toList();
        FaultPlacement placement = scenarios.getFirst().placement();
        List<FetchRun> runs = new ArrayList<>();
        progress.show(idle.label() + ": starting agents, filling " + plan.pages() + " pages");
        try (FaultAgents agents = FaultAgents.start(children, coordinator, plan, idle, placement, toucher)) {
            List<FaultTurns> turns = scenarios.stream()
                    .map(scenario -> new FaultTurns(plan, scenario, agents, toucher, progress::show))
                    .toList();
            progress.show(idle.label() + ": warming up");
            warmUp(plan, turns);
            Optional<FaultHandler> handler = Optional.empty();
            try {
                if (plan.withBaseline()
                        && scenarios.stream()
                                .anyMatch(scenario -> scenario.kind().isAgainstC())) {
                    handler = Optional.of(startHandler(plan, idle, placement, children));
                }
                for (FaultTurns one : turns) {
                    runs.add(one.measure(handler));
                }
            } finally {
                handler.ifPresent(FaultHandler::close);
            }
        }
        return runs;
    }

    /** All that will be measured, one after another, until the time is over. */
    private static void warmUp(FaultPlan plan, List<FaultTurns> turns) throws InterruptedException {
        long deadline = System.nanoTime() + plan.warmup().toNanos();
        for (int i = 0; System.nanoTime() - deadline < 0; i++) {
            turns.get(i % turns.size()).warmUp();
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
