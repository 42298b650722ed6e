package io.farpage.bench.fetch;

import static io.farpage.bench.command.Plan.require;

import io.farpage.bench.baseline.RdmaPort;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.command.RunOptions.Transport;
import io.farpage.bench.fetch.FetchOptions.ModeChoice;
import io.farpage.bench.report.Bounds;
import io.farpage.bench.report.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What to measure, checked.
 *
 * @param given the options
 * @param skipped why a scenario that was not asked for by name is left out
 * @param rounds of each scenario
 */
record FetchPlan(FetchOptions given, List<Scenario> scenarios, List<String> skipped, BaselineKind baseline, int rounds)
        implements Plan {
    static final int DEFAULT_DEPTH = 32;
    /** Fetches before each round that are not recorded. */
    static final long SETTLE = 2000;

    private static final int DEFAULT_ROUNDS = 11;
    /** As a quiet machine of two CPUs takes it. */
    private static final Duration START = Duration.ofSeconds(6);

    private static final Duration ROUND_BEGIN = Duration.ofMillis(100);
    private static final long PAGE_NANOS = 30_000;
    private static final int MAX_DEPTH = 1024;
    private static final long MAX_BYTES = 1L << 40;

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static FetchPlan of(FetchOptions o, List<Integer> allowedCpus) {
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
        require(
                count != null || o.duration.dividedBy(rounds).toMillis() >= 1,
                "--duration " + o.duration.toMillis() + "ms: must be at least 1ms for each of " + rounds + " rounds");
        require(
                o.duration.compareTo(Duration.ofHours(24)) <= 0 && o.warmup.compareTo(Duration.ofHours(1)) <= 0,
                "--duration must be at most 24h, --warmup at most 1h");
        var _ = o.rdma.port(o.run.transport());
        require(
                o.encryption == Encryption.OFF || o.run.transport() == Transport.TCP,
                "--encryption on: RDMA does not encrypt; add --transport tcp");
        List<String> skipped = new ArrayList<>();
        return new FetchPlan(o, scenarios(o, allowedCpus, skipped), skipped, baseline(o), rounds);
    }

    private static BaselineKind baseline(FetchOptions o) {
        BaselineKind given = o.baseline;
        require(
                !o.run.noBaseline() || given == null || given == BaselineKind.NONE,
                "--no-baseline: contradicts --baseline; leave one of them out");
        boolean isEncrypted = o.encryption == Encryption.ON || o.sealing == Sealing.ON;
        BaselineKind usual = o.run.transport() == Transport.RDMA ? BaselineKind.PERFTEST : BaselineKind.C;
        BaselineKind chosen = given != null ? given : isEncrypted ? BaselineKind.PLAIN : usual;
        require(
                chosen != BaselineKind.PLAIN || isEncrypted,
                "--baseline plain: is for encryption; add --encryption on or --sealed on");
        if (o.run.noBaseline()) {
            chosen = BaselineKind.NONE;
        }
        require(
                chosen != BaselineKind.PERFTEST
                        || o.rdma.port(o.run.transport()).isPresent(),
                "--baseline perftest: measures one RDMA device; add --transport rdma --device NAME, or choose"
                        + " --baseline c");
        return chosen;
    }

    private static List<Scenario> scenarios(FetchOptions o, List<Integer> allowed, List<String> skipped) {
        int depth = depth(o);
        List<Integer> cpus = RunOptions.cpus(o.cpus, allowed, 2);
        int first = cpus.getFirst();
        List<Scenario> scenarios = new ArrayList<>();
        for (Mode mode : Mode.values()) {
            if (o.mode != ModeChoice.ALL && !o.mode.name().equals(mode.name())) {
                continue;
            }
            boolean isLatency = mode == Mode.LATENCY;
            List<Idle> idles = isLatency ? List.of(Idle.SPIN, Idle.BLOCK) : List.of(Idle.SPIN);
            for (Idle idle : o.run.idle(idles, cpus.size(), skipped)) {
                int home = idle.needsTwoCpus() ? cpus.get(1) : first;
                scenarios.add(new Scenario(
                        mode, idle, isLatency ? 1 : depth, new Placement(first, home), o.encryption, o.sealing));
            }
        }
        if (scenarios.isEmpty()) {
            scenarios.add(new Scenario(
                    Mode.THROUGHPUT, Idle.BLOCK, depth, new Placement(first, first), o.encryption, o.sealing));
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

    @Override
    public Subject subject() {
        return Subject.FETCH;
    }

    @Override
    public RunOptions run() {
        return given.run;
    }

    @Override
    public long allRounds() {
        return (long) scenarios.size() * rounds;
    }

    @Override
    public Duration expected() {
        Duration side = roundCount() > 0 ? Duration.ofNanos(PAGE_NANOS * roundCount()) : roundTime();
        Duration prepared = START.plus(given.warmup).plusNanos(PAGE_NANOS * given.pages);
        return prepared.multipliedBy((baseline == BaselineKind.PLAIN ? 2L : 1L) * scenarios.size())
                .plus(side.plus(ROUND_BEGIN).multipliedBy((baseline == BaselineKind.NONE ? 1 : 2) * allRounds()));
    }

    /** For the pools of one scenario, which follow one another, and for the baseline's pages. */
    @Override
    public long hugepages() {
        long most = scenarios.stream()
                .mapToLong(scenario -> AgentFlags.hugepages(bytes(), Pair.staging(this, scenario)))
                .max()
                .orElse(0);
        return switch (baseline) {
            case C -> most + AgentFlags.hugepages(bytes());
            case PLAIN -> 2 * most;
            case PERFTEST, NONE -> most;
        };
    }

    @Override
    public Bounds bounds() {
        return new Bounds(given.bounds);
    }

    /** The device, if it is not left to the agents. */
    Optional<RdmaPort> rdma() {
        return given.rdma.port(given.run.transport());
    }

    int pageSize() {
        return (int) given.pageSize;
    }

    long bytes() {
        return given.pages * given.pageSize;
    }

    /** Fetches of one round, or 0 to go by time. */
    long roundCount() {
        return given.count == null ? 0 : given.count / rounds;
    }

    /** The duration of one round that goes by time. */
    Duration roundTime() {
        return given.duration.dividedBy(rounds);
    }

    /** The longest that one round may take: a page in 10 ms on average, and time to start. */
    Duration roundTimeout() {
        return roundTime().multipliedBy(2).plusSeconds(60).plusMillis((roundCount() + SETTLE) * 10);
    }
}
