package io.farpage.bench.command;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.bench.report.Conditions;
import io.farpage.bench.report.FetchReport;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.ReportFiles;
import io.farpage.bench.report.ReportTable;
import io.farpage.bench.stall.CpuWatch;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.progress.Progress;
import io.farpage.progress.Unit;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * A command that starts a coordinator and agents, measures, prints a table and leaves a report. It fails if a page was
 * not what it should have been, or if a bound was exceeded.
 *
 * @param <P> what to measure, checked
 */
public abstract class MeasuringCommand<P extends Plan> implements Callable<Integer> {
    private static final int WRONG = 1;
    private static final Duration OWN_END = Duration.ofSeconds(10);
    /** Percentage of the expected time after which rounds are not replaced. */
    private static final int REPLACING_PERCENT = 150;

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    protected abstract P plan(List<Integer> allowedCpus);

    /**
     * Measures.
     *
     * @param running to start programs with
     */
    protected abstract List<FetchRun> measure(P plan, Running running) throws InterruptedException;

    /**
     * What is at hand while a command measures.
     *
     * @param children starts programs, which end with this one
     * @param coordinator of the agents to be started
     * @param progress shows the progress
     * @param rounds measures
     */
    public record Running(Children children, Coordinator coordinator, Progress progress, Rounds rounds) {}

    @Override
    public final Integer call() throws InterruptedException {
        P plan;
        Duration startTimeout;
        try {
            plan = plan(Cpus.allowed());
            startTimeout = plan.run().startTimeout();
        } catch (IllegalArgumentException e) {
            throw new UsageException(e);
        }
        Path directory = plan.run().report();
        FetchReport report =
                measure(plan, startTimeout, Conditions.ofThisMachine(plan.run().seed(), Installation.root()));
        System.out.print(ReportTable.render(report));
        try {
            ReportFiles.write(report, directory);
        } catch (IOException e) {
            throw new CommandException("cannot write the report into " + directory + ": " + e, e);
        }
        System.out.println("report: " + directory.resolve(plan.subject().label() + ".html"));
        long wrong = report.results().stream()
                .mapToLong(run -> run.figures().mismatches())
                .sum();
        if (wrong > 0) {
            System.err.println("page-bench: " + wrong + " pages did not hold what they should");
            return WRONG;
        }
        List<String> exceeded = plan.bounds().exceeded(report);
        exceeded.forEach(line -> System.err.println("page-bench: " + line));
        return exceeded.isEmpty() ? 0 : WRONG;
    }

    private FetchReport measure(P plan, Duration startTimeout, Conditions conditions) throws InterruptedException {
        plan.skipped().forEach(why -> System.out.println("left out: " + why));
        Duration longest = plan.expected().multipliedBy(REPLACING_PERCENT).dividedBy(100);
        System.out.println("%s: %d rounds in all, about %s; up to %s if rounds are stalled and replaced"
                .formatted(plan.subject().label(), plan.allRounds(), text(plan.expected()), text(longest)));
        long end = System.nanoTime() + longest.toNanos();
        try (Children children =
                        Children.open(Programs.ofThisJvm(), plan.run().report().resolve("logs"), startTimeout);
                HugepageReservation hugepages = HugepageReservation.additional(HugepageSize.TWO_MIB, plan.hugepages());
                Progress progress =
                        plan.run().progress().startForMeasuring(plan.subject().label(), Unit.of("rounds"))) {
            children.borrowed(hugepages.borrowed());
            if (!hugepages.isSufficient()) {
                progress.interrupt(() -> System.out.println(hugepages.description()));
            }
            progress.total(plan.allRounds());
            progress.expect(plan.expected());
            progress.label("starting the coordinator");
            Rounds rounds = new Rounds(progress, CpuWatch.ofThisMachine(), () -> System.nanoTime() - end < 0);
            try (Coordinator coordinator = Coordinator.start(children)) {
                List<FetchRun> runs = measure(plan, new Running(children, coordinator, progress, rounds));
                progress.label(plan.subject().label());
                progress.finish();
                return new FetchReport(plan.subject(), conditions, runs, plan.skipped());
            } catch (CommandException e) {
                if (children.isEnding()) {
                    // The signal that is ending this process has ended the others: no news.
                    Thread.sleep(OWN_END);
                }
                throw e;
            }
        }
    }

    private static String text(Duration time) {
        return time.toMinutes() == 0
                ? time.toSeconds() + " s"
                : time.toMinutes() + " min " + time.toSecondsPart() + " s";
    }
}
