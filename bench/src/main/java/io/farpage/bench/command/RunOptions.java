package io.farpage.bench.command;

import io.farpage.bench.cluster.Idle;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.guest.command.TimeSpan;
import io.farpage.progress.ProgressOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of every command that measures, as given; those that can be wrong say so when they are asked for. */
public final class RunOptions {
    /** Which transport carries the pages. */
    public enum Transport {
        AUTO,
        RDMA,
        TCP;

        /** As {@code transport.mode} takes it. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final int MAX_ROUNDS = 1000;

    @Option(
            names = "--idle",
            split = ",",
            description = "How both sides wait: spin and adaptive need a CPU for each side, block shares one"
                    + " (default: spin and block; fetch --mode throughput: spin; clone: one of them, block with fewer"
                    + " than three CPUs)")
    private List<Idle> idle = List.of();

    @Option(
            names = "--rounds",
            description = "Rounds of each run, 1 to 1000; each round is followed or preceded by one of the baseline"
                    + " (default: fetch 11, fault 9, clone 5)")
    private @Nullable Integer rounds;

    @Option(
            names = "--seed",
            defaultValue = "1",
            description = "Seed of page content and order (default: ${DEFAULT-VALUE})")
    private long seed;

    @Option(
            names = "--transport",
            defaultValue = "auto",
            description = "auto (RDMA if there is a device), rdma or tcp (default: ${DEFAULT-VALUE})")
    private Transport transport = Transport.AUTO;

    @Option(
            names = "--start-timeout",
            defaultValue = "90s",
            converter = TimeSpan.class,
            description = "How long each program may take to be ready, and the link to come up; for slow and emulated"
                    + " machines (default: ${DEFAULT-VALUE})")
    private Duration startTimeout = Duration.ZERO;

    @Option(names = "--no-baseline", description = "Do not run the C or perftest baseline")
    private boolean noBaseline;

    @Mixin
    private final ProgressOption progress = new ProgressOption();

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description =
                    "Directory of the report (default: bench/target/report in a source tree, otherwise farpage-report)")
    private @Nullable Path report;

    /**
     * The idle strategies to measure with.
     *
     * @param otherwise if none are given
     * @param cpus how many there are
     * @param skipped receives why one that was not asked for is left out
     * @throws IllegalArgumentException if one that was asked for needs more CPUs
     */
    public List<Idle> idle(List<Idle> otherwise, int cpus, List<String> skipped) {
        List<Idle> possible = new ArrayList<>();
        for (Idle one : idle.isEmpty() ? otherwise : idle.stream().distinct().toList()) {
            if (!one.needsTwoCpus() || cpus >= 2) {
                possible.add(one);
                continue;
            }
            String why = "--idle " + one.label() + " needs two CPUs, one for each side, and has " + cpus;
            Plan.require(idle.isEmpty(), why + "; use --idle block, or allow this process a second CPU");
            skipped.add(why);
        }
        return possible;
    }

    /**
     * CPUs to run on: those given, or the first that this process may use.
     *
     * @param given the value of {@code --cpus}
     * @param most how many are of use, 2 or 3
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    public static List<Integer> cpus(@Nullable String given, List<Integer> allowed, int most) {
        if (given == null) {
            return allowed.subList(0, Math.min(most, allowed.size()));
        }
        String wrong = "--cpus " + given + ": must be " + (most == 2 ? "two" : "two or three")
                + " different numbers such as 0,1, or one for --idle block, of the CPUs that this process may use: "
                + allowed;
        List<Integer> cpus;
        try {
            cpus = Cpus.parse(given);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(wrong, e);
        }
        Plan.require(
                cpus.size() <= most && cpus.stream().distinct().count() == cpus.size() && allowed.containsAll(cpus),
                wrong);
        return cpus;
    }

    /**
     * Rounds of each run.
     *
     * @param otherwise if none are given
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    public int rounds(int otherwise) {
        int given = rounds == null ? otherwise : rounds;
        Plan.require(given >= 1 && given <= MAX_ROUNDS, "--rounds " + given + ": must be from 1 to " + MAX_ROUNDS);
        return given;
    }

    /**
     * How long each program may take to be ready, and the link to come up.
     *
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    public Duration startTimeout() {
        Plan.require(
                startTimeout.compareTo(Duration.ofSeconds(1)) >= 0 && startTimeout.compareTo(Duration.ofHours(1)) <= 0,
                "--start-timeout " + startTimeout.toMillis() + "ms: must be from 1s to 1h");
        return startTimeout;
    }

    public long seed() {
        return seed;
    }

    public Transport transport() {
        return transport;
    }

    public ProgressOption progress() {
        return progress;
    }

    public boolean noBaseline() {
        return noBaseline;
    }

    /** Where the report goes. */
    public Path report() {
        return report == null ? Installation.defaultReport() : report;
    }
}
