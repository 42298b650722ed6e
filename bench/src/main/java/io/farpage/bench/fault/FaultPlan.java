package io.farpage.bench.fault;

import io.farpage.bench.baseline.FaultToucher.Backing;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.report.Bounds;
import io.farpage.bench.report.Subject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What to measure, checked.
 *
 * @param scenarios those of one idle strategy side by side
 * @param skipped why a case that was not asked for by name is left out
 * @param settle touches of each round that are not recorded, at first
 * @param transport as {@code transport.mode} takes it
 */
record FaultPlan(
        List<FaultScenario> scenarios,
        List<String> skipped,
        long pages,
        int threads,
        int prefetch,
        Backing backing,
        long settle,
        long seed,
        String transport,
        int rounds,
        Duration warmup,
        boolean withBaseline,
        Path report)
        implements Plan {
    static final int PAGE_BYTES = 4096;

    private static final int DEFAULT_ROUNDS = 7;

    /** Below it a quarter of the pages is less than an agent needs. */
    private static final long MIN_PAGES = 256;

    private static final long MAX_PAGES = 1L << 24;
    private static final int MAX_THREADS = 64;
    private static final int MAX_PREFETCH = 64;
    private static final int PART_TO_SETTLE = 16;

    FaultPlan {
        scenarios = List.copyOf(scenarios);
        skipped = List.copyOf(skipped);
    }

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @param defaultReport where the report goes if nothing is said
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static FaultPlan of(FaultOptions o, List<Integer> allowedCpus, Path defaultReport) {
        require(
                o.pages >= MIN_PAGES && o.pages <= MAX_PAGES,
                "--pages " + o.pages + ": must be from " + MIN_PAGES + " to " + MAX_PAGES);
        require(
                o.threads >= 2 && o.threads <= MAX_THREADS,
                "--threads " + o.threads + ": must be from 2 to " + MAX_THREADS);
        require(
                o.prefetch >= 2 && o.prefetch <= MAX_PREFETCH,
                "--prefetch " + o.prefetch + ": must be from 2 to " + MAX_PREFETCH);
        require(
                o.warmup.compareTo(Duration.ofHours(1)) <= 0,
                "--warmup " + o.warmup.toSeconds() + "s: must be at most 1h");
        List<String> skipped = new ArrayList<>();
        return new FaultPlan(
                scenarios(o, allowedCpus, skipped),
                skipped,
                o.pages,
                o.threads,
                o.prefetch,
                o.backing,
                o.pages / PART_TO_SETTLE,
                o.run.seed(),
                o.run.transport().label(),
                o.run.rounds(DEFAULT_ROUNDS),
                o.warmup,
                !o.run.noBaseline(),
                o.run.report(defaultReport));
    }

    private static List<FaultScenario> scenarios(FaultOptions o, List<Integer> allowed, List<String> skipped) {
        List<Integer> cpus = cpus(o.cpus, allowed);
        List<FaultScenario> scenarios = new ArrayList<>();
        List<FaultCase> cases = o.cases.isEmpty() ? List.of(FaultCase.values()) : o.cases;
        for (Idle idle : o.idle.isEmpty()
                ? List.of(Idle.SPIN, Idle.BLOCK)
                : o.idle.stream().distinct().toList()) {
            if (idle.needsTwoCpus() && cpus.size() < 2) {
                String why = "--idle " + idle.label() + " needs two CPUs, for handler and home, and has " + cpus.size();
                require(o.idle.isEmpty(), why + "; use --idle block, or allow this process a second CPU");
                skipped.add(why);
                continue;
            }
            for (FaultCase one : cases.stream().distinct().toList()) {
                if (one.evicts() && o.backing == Backing.ANONYMOUS) {
                    String why = "--case " + one.label() + " needs --backing memfd: nothing else can be evicted";
                    require(o.cases.isEmpty(), why);
                    skipped.add(why);
                    continue;
                }
                scenarios.add(new FaultScenario(one, idle, placement(idle, cpus)));
            }
        }
        return scenarios;
    }

    /**
     * Blocking, all share a CPU: a wake-up across CPUs takes longer than the fetch. Spinning, the toucher has a CPU of its own if there
     * is one, and else that of the handler, whom it leaves alone while it waits for it.
     */
    private static FaultPlacement placement(Idle idle, List<Integer> cpus) {
        int first = cpus.getFirst();
        return idle.needsTwoCpus()
                ? new FaultPlacement(first, cpus.get(1), cpus.size() > 2 ? cpus.get(2) : first)
                : new FaultPlacement(first, first, first);
    }

    private static List<Integer> cpus(@Nullable String given, List<Integer> allowed) {
        if (given == null) {
            return allowed.subList(0, Math.min(3, allowed.size()));
        }
        String wrong =
                "--cpus " + given + ": must be two or three different numbers such as 0,1, or one for --idle block,"
                        + " of the CPUs that this process may use: " + allowed;
        List<Integer> cpus;
        try {
            cpus = Cpus.parse(given);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(wrong, e);
        }
        require(
                cpus.size() <= 3 && cpus.stream().distinct().count() == cpus.size() && allowed.containsAll(cpus),
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
        return Subject.FAULT;
    }

    @Override
    public long hugepages() {
        return FaultFlags.hugepages(this);
    }

    @Override
    public Bounds bounds() {
        return new Bounds(Map.of());
    }

    long bytes() {
        return pages * PAGE_BYTES;
    }

    /** The longest that one round may take: a page in 10 ms on average, and time to start. */
    Duration roundPatience() {
        return Duration.ofSeconds(60).plusMillis(pages * 10);
    }
}
