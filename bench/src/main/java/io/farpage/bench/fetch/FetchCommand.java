package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.process.BenchException;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.bench.process.Progress;
import io.farpage.bench.report.Conditions;
import io.farpage.bench.report.FetchReport;
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
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code page-bench fetch}. */
@Command(
        name = "fetch",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents here, fetches pages from one into the other, checks them, and"
                        + " compares with another program: a C program that does the same over TCP, or perftest on RDMA.")
public final class FetchCommand implements Callable<Integer> {
    private static final int WRONG = 1;

    @Mixin
    private final FetchOptions options = new FetchOptions();

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Path root = Installation.root();
        FetchPlan plan;
        try {
            plan = FetchPlan.of(options, Cpus.allowed(), Installation.defaultReport());
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
        System.out.println("report: " + plan.report().resolve("fetch.html"));
        long wrong = report.results().stream()
                .mapToLong(result -> result.mismatches())
                .sum();
        if (wrong > 0) {
            System.err.println("page-bench: " + wrong + " fetched pages did not hold what they should");
            return WRONG;
        }
        List<String> exceeded = plan.bounds().exceeded(report);
        exceeded.forEach(line -> System.err.println("page-bench: " + line));
        return exceeded.isEmpty() ? 0 : WRONG;
    }

    private static FetchReport measure(FetchPlan plan, Path root) throws InterruptedException {
        Conditions conditions = Conditions.here(plan.seed(), root);
        plan.skipped().ifPresent(why -> System.out.println("left out: " + why));
        List<FetchRun> runs = new ArrayList<>();
        try (Children children =
                        Children.open(Programs.ofThisJvm(), plan.report().resolve("logs"));
                HugepageReservation hugepages = reserve(plan);
                Progress progress = Progress.onStandardOutput()) {
            children.borrowed(hugepages.borrowed());
            if (!hugepages.isSufficient()) {
                System.out.println(hugepages.description());
            }
            progress.show("building the baseline, starting the coordinator");
            Yardsticks yardsticks = Yardsticks.prepare(plan, children.scratch());
            try (Coordinator coordinator = Coordinator.start(children)) {
                for (Scenario scenario : plan.scenarios()) {
                    runs.add(new Turns(plan, scenario, yardsticks, progress::show).measure(children, coordinator));
                }
            } catch (BenchException e) {
                if (children.isEnding()) {
                    // The signal that is ending this process has ended the others: no news.
                    Thread.sleep(Duration.ofSeconds(10));
                }
                throw e;
            }
        }
        return new FetchReport(Subject.FETCH, conditions, runs);
    }

    /** For the pools of one scenario, which follow one another, and for the baseline's pages. */
    private static HugepageReservation reserve(FetchPlan plan) {
        long most = plan.scenarios().stream()
                .mapToLong(scenario -> AgentFlags.hugepages(plan, scenario))
                .max()
                .orElse(0);
        long pages = most + (plan.yardstick() == Yardstick.C ? AgentFlags.pageHugepages(plan) : 0);
        return HugepageReservation.additional(HugepageSize.TWO_MIB, pages);
    }
}
