package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions.Transport;
import io.farpage.bench.fetch.FetchOptions.ModeChoice;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.report.Bounds;
import io.farpage.bench.report.Subject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * What to measure, checked.
 *
 * @param skipped why a scenario that was not asked for by name is left out
 * @param roundCount fetches of one round, or 0 to go by time
 * @param roundTime of one round, if not by count
 * @param warmup before the first round
 * @param settle fetches before each round that are not recorded
 * @param transport as {@code transport.mode} takes it
 * @param rdma the device, if it is not left to the agents
 */
record FetchPlan(
        List<Scenario> scenarios,
        List<String> skipped,
        long pages,
        int pageSize,
        PagePattern pattern,
        double zipfExponent,
        long seed,
        Verification verification,
        String transport,
        Optional<RdmaPort> rdma,
        int rounds,
        long roundCount,
        Duration roundTime,
        Duration warmup,
        long settle,
        BaselineKind baseline,
        Bounds bounds,
        Path report)
        implements Plan {
    static final int DEFAULT_DEPTH = 32;
    private static final int DEFAULT_ROUNDS = 11;
    private static final int MAX_DEPTH = 1024;
    private static final long MAX_BYTES = 1L << 40;
    private static final long SETTLE = 2000;

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @param defaultReport where the report goes if nothing is said
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static FetchPlan of(FetchOptions o, List<Integer> allowedCpus, Path defaultReport) {
        long size = o.pageSize;
        require(
                size >= 4096 && size <= 2 << 20 && Long.bitCount(size) == 1,
                "--page-size " + size + ": must be a power of two from 4KiB to 2MiB");
        require(
                o.pages >= 1 && o.pages <= MAX_BYTES / size,
                "--pages " + o.pages + ": must be from 1 to " + MAX_BYTES / size + " at this page size");
        require(
                o.zipfExponent >= 0.01 && o.zipfExponent <= 10,
                "--zipf-exponent " + o.zipfExponent + ": must be from 0.01 to 10");
        int rounds = o.run.rounds(DEFAULT_ROUNDS);
        Long count = o.count;
        require(
                count == null || count >= rounds,
                "--count " + count + ": must be at least one for each of " + rounds + " rounds");
        Duration roundTime = o.duration.dividedBy(rounds);
        require(
                count != null || roundTime.toMillis() >= 1,
                "--duration " + o.duration.toMillis() + "ms: must be at least 1ms for each of " + rounds + " rounds");
        require(
                o.duration.compareTo(Duration.ofHours(24)) <= 0 && o.warmup.compareTo(Duration.ofHours(1)) <= 0,
                "--duration must be at most 24h, --warmup at most 1h");
        List<String> skipped = new ArrayList<>();
        return new FetchPlan(
                scenarios(o, allowedCpus, skipped),
                skipped,
                o.pages,
                (int) size,
                o.pattern,
                o.zipfExponent,
                o.run.seed(),
                o.verify,
                o.run.transport().label(),
                rdma(o),
                rounds,
                count == null ? 0 : count / rounds,
                roundTime,
                o.warmup,
                SETTLE,
                baseline(o),
                new Bounds(o.bounds),
                o.run.report(defaultReport));
    }

    private static Optional<RdmaPort> rdma(FetchOptions o) {
        String device = o.device;
        Integer index = o.gidIndex;
        require(index == null || device != null, "--gid-index " + index + ": is of a device; add --device NAME");
        require(index == null || index >= 0, "--gid-index " + index + ": must be 0 or more");
        if (device == null) {
            return Optional.empty();
        }
        require(
                o.run.transport() == Transport.RDMA,
                "--device " + device + ": is for --transport rdma, and the transport is "
                        + o.run.transport().label());
        return Optional.of(new RdmaPort(device, index == null ? OptionalInt.empty() : OptionalInt.of(index)));
    }

    private static BaselineKind baseline(FetchOptions o) {
        BaselineKind given = o.baseline;
        require(
                !o.run.noBaseline() || given == null || given == BaselineKind.NONE,
                "--no-baseline: contradicts --baseline; leave one of them out");
        BaselineKind chosen =
                given != null ? given : o.run.transport() == Transport.RDMA ? BaselineKind.PERFTEST : BaselineKind.C;
        if (o.run.noBaseline()) {
            chosen = BaselineKind.NONE;
        }
        require(
                chosen != BaselineKind.PERFTEST || o.device != null,
                "--baseline perftest: measures one RDMA device; add --transport rdma --device NAME, or choose --baseline c");
        return chosen;
    }

    private static List<Scenario> scenarios(FetchOptions o, List<Integer> allowed, List<String> skipped) {
        int depth = depth(o);
        List<Integer> cpus = cpus(o.cpus, allowed);
        List<Scenario> scenarios = new ArrayList<>();
        for (Mode mode : Mode.values()) {
            if (o.mode != ModeChoice.ALL && !o.mode.name().equals(mode.name())) {
                continue;
            }
            List<Idle> idles = o.idle;
            if (idles.isEmpty()) {
                idles = mode == Mode.LATENCY ? List.of(Idle.SPIN, Idle.BLOCK) : List.of(Idle.SPIN);
            }
            for (Idle idle : idles.stream().distinct().toList()) {
                if (idle.needsTwoCpus() && cpus.size() < 2) {
                    String why =
                            "--idle " + idle.label() + " needs two CPUs, one for each side, and has " + cpus.size();
                    require(o.idle.isEmpty(), why + "; use --idle block, or allow this process a second CPU");
                    skipped.add(why);
                    continue;
                }
                int home = idle.needsTwoCpus() ? cpus.get(1) : cpus.getFirst();
                scenarios.add(new Scenario(
                        mode, idle, mode == Mode.LATENCY ? 1 : depth, new Placement(cpus.getFirst(), home)));
            }
        }
        if (scenarios.isEmpty()) {
            scenarios.add(
                    new Scenario(Mode.THROUGHPUT, Idle.BLOCK, depth, new Placement(cpus.getFirst(), cpus.getFirst())));
        }
        return scenarios;
    }

    private static int depth(FetchOptions o) {
        Integer depth = o.depth;
        if (depth == null) {
            return DEFAULT_DEPTH;
        }
        require(
                o.mode != ModeChoice.LATENCY || depth == 1,
                "--depth " + depth + ": latency is measured one page at a time; use --mode throughput");
        require(
                o.mode == ModeChoice.LATENCY || (depth >= 2 && depth <= MAX_DEPTH),
                "--depth " + depth + ": must be from 2 to " + MAX_DEPTH);
        return depth;
    }

    private static List<Integer> cpus(@Nullable String given, List<Integer> allowed) {
        if (given == null) {
            return allowed.subList(0, Math.min(2, allowed.size()));
        }
        String wrong = "--cpus " + given + ": must be two different numbers such as 0,1, or one for --idle block,"
                + " of the CPUs that this process may use: " + allowed;
        List<Integer> cpus;
        try {
            cpus = Cpus.parse(given);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(wrong, e);
        }
        require(
                cpus.size() <= 2 && cpus.stream().distinct().count() == cpus.size() && allowed.containsAll(cpus),
                wrong);
        return cpus;
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    @Override
    public Subject subject() {
        return Subject.FETCH;
    }

    /** For the pools of one scenario, which follow one another, and for the baseline's pages. */
    @Override
    public long hugepages() {
        long most = scenarios.stream()
                .mapToLong(scenario -> AgentFlags.hugepages(this, scenario))
                .max()
                .orElse(0);
        return most + (baseline == BaselineKind.C ? AgentFlags.pageHugepages(this) : 0);
    }

    /** The longest that one round may take: a page in 10 ms on average, and time to start. */
    Duration roundPatience() {
        return roundTime.multipliedBy(2).plusSeconds(60).plusMillis((roundCount + settle) * 10);
    }
}
