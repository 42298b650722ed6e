package io.farpage.bench.park;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.guest.BenchGuest;
import io.farpage.bench.guest.GuestAgents;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.config.BytesOption;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench park}. */
@Command(
        name = "park",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine and a guest whose memory is all written. Parks it,"
                        + " unparks it and checks every page, in rounds that alternate with a C program that reads as"
                        + " many pages over TCP, 32 at a time.")
public final class ParkCommand implements Callable<Integer> {
    private static final int PAGE = 4096;
    private static final int DEPTH = 32;
    private static final int SPINNING_CPUS = 3;
    private static final long MIB = 1 << 20;
    private static final long LEAST = 8 * MIB;
    private static final long MOST = 16L << 30;
    private static final int MAX_ROUNDS = 1000;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(90);
    private static final Duration READ_TIMEOUT = Duration.ofMinutes(2);

    @Option(
            names = "--memory",
            converter = BytesOption.class,
            defaultValue = "256MiB",
            description = "Memory of the guest, 8MiB to 16GiB; its home has a pool of that size (default:"
                    + " ${DEFAULT-VALUE})")
    private long memory;

    @Option(
            names = "--rounds",
            defaultValue = "7",
            description = "Rounds, 1 to 1000; the first is not counted (default: ${DEFAULT-VALUE})")
    private int rounds;

    @Option(
            names = "--thin",
            description = "The space is thin: it gets its room while the guest is parked for the first time")
    private boolean thin;

    @Option(
            names = "--idle",
            description =
                    "How both sides wait: spin, adaptive or block (default: spin with three CPUs or more, one each"
                            + " for the guest, its agent and its home; block with fewer)")
    private @Nullable Idle given;

    /** Rates of one round, in MiB/s. */
    private record Round(double park, double unpark, double read) {}

    @Override
    public Integer call() throws InterruptedException {
        if (memory < LEAST || memory > MOST || memory % (2 * MIB) != 0) {
            throw new UsageException("--memory " + memory + ": must be a multiple of 2MiB from 8MiB to 16GiB");
        }
        if (rounds < 1 || rounds > MAX_ROUNDS) {
            throw new UsageException("--rounds " + rounds + ": must be from 1 to " + MAX_ROUNDS);
        }
        List<Integer> cpus = Cpus.allowed();
        Idle idle = given != null ? given : cpus.size() < SPINNING_CPUS ? Idle.BLOCK : Idle.SPIN;
        int homeCpu = cpus.getFirst();
        int nodeCpu = idle.needsTwoCpus() && cpus.size() > 1 ? cpus.get(1) : homeCpu;
        Path report = Installation.root().resolve("bench/target/report");
        List<Round> measured = new ArrayList<>();
        try (Children children = Children.open(Programs.ofThisJvm(), report.resolve("logs"), START_TIMEOUT);
                Coordinator coordinator = Coordinator.start(children);
                GuestAgents agents = GuestAgents.start(
                        children, coordinator, new GuestAgents.Setting(idle, homeCpu, nodeCpu, memory, thin), 1);
                BenchGuest guest = agents.begin("bench-park");
                BaselineProcess reader = agents.whilePaused(() -> startReader(report, idle, nodeCpu, homeCpu))) {
            for (int round = 0; round <= rounds; round++) {
                guest.write(round);
                double park = rate(guest.park());
                double unpark = rate(guest.unpark());
                guest.check(round);
                double read = agents.whilePaused(() -> read(reader));
                if (round > 0) {
                    measured.add(new Round(park, unpark, read));
                } else {
                    System.out.printf(
                            Locale.ROOT,
                            "first park, not counted: %.0f MiB/s%s%n",
                            park,
                            thin ? ", with allocations" : "");
                }
            }
        }
        print(measured, idle);
        return 0;
    }

    private BaselineProcess startReader(Path report, Idle idle, int nodeCpu, int homeCpu) throws InterruptedException {
        return switch (BaselineProgram.build(BaselineProgram.FETCH, report.resolve("baseline"))) {
            case BaselineProgram.Unavailable(String reason) -> throw new CommandException(reason);
            case BaselineProgram.Built(Path program, Path _) ->
                BaselineProcess.start(
                        program,
                        new BaselineSettings(
                                idle.baseline(),
                                DEPTH,
                                PAGE,
                                memory / PAGE,
                                PagePattern.SEQUENTIAL,
                                1,
                                Verification.NONE,
                                OptionalInt.of(nodeCpu),
                                OptionalInt.of(homeCpu),
                                true,
                                1,
                                DEPTH),
                        BaselineProcess.START_TIMEOUT);
        };
    }

    private double read(BaselineProcess reader) throws InterruptedException {
        Duration elapsed = reader.run(memory / PAGE, READ_TIMEOUT).round().elapsed();
        return memory / (double) MIB / (elapsed.toNanos() / 1e9);
    }

    private double rate(Duration elapsed) {
        return memory / (double) MIB / (elapsed.toNanos() / 1e9);
    }

    private void print(List<Round> measured, Idle idle) {
        System.out.printf(
                Locale.ROOT,
                "%d MiB, %d rounds, tcp, %s; MiB/s and ratio to C: median (least to most)%n",
                memory / MIB,
                measured.size(),
                idle.label());
        print("park", measured, Round::park);
        print("unpark", measured, Round::unpark);
        print("C reads 32 deep", measured, Round::read);
    }

    private static void print(String name, List<Round> rounds, ToDoubleFunction<Round> rate) {
        System.out.printf(
                Locale.ROOT,
                "%-16s %s MiB/s   %s%n",
                name,
                spread("%.0f", rounds.stream().mapToDouble(rate)),
                spread("%.2f", rounds.stream().mapToDouble(round -> rate.applyAsDouble(round) / round.read())));
    }

    private static String spread(String format, DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
        return String.format(
                Locale.ROOT,
                format + " (" + format + " to " + format + ")",
                median,
                sorted[0],
                sorted[sorted.length - 1]);
    }
}
