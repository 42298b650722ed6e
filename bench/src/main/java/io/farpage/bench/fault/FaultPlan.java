package io.farpage.bench.fault;

import static io.farpage.bench.command.Plan.require;

import io.farpage.bench.baseline.FaultToucher.Backing;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.report.Subject;
import io.farpage.coordinator.model.Presence;
import io.farpage.linux.crypto.LibCrypto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What to measure, checked.
 *
 * @param given the options
 * @param scenarios those of one idle strategy side by side
 * @param skipped why a case that was not asked for by name is left out
 * @param rounds of each scenario
 */
record FaultPlan(FaultOptions given, List<FaultScenario> scenarios, List<String> skipped, int rounds) implements Plan {
    static final int PAGE_BYTES = 4096;

    static final int LARGE_PAGE_BYTES = 2 << 20;

    /** What may be resident of a guest with pages of 2 MiB: the fewest pages that an agent accepts. */
    static final long LARGE_LOCAL_BYTES = 64L * LARGE_PAGE_BYTES;

    static final long LARGE_STREAM_BYTES = 2 * LARGE_LOCAL_BYTES;

    private static final int DEFAULT_ROUNDS = 9;

    /** Below it a quarter of the pages is less than an agent needs. */
    private static final long MIN_PAGES = 256;

    private static final long MAX_PAGES = 1L << 24;
    private static final int MAX_THREADS = 64;
    private static final int MAX_PREFETCH = 64;
    /** As a quiet machine of two CPUs takes it. */
    private static final Duration START = Duration.ofSeconds(9);

    private static final Duration ROUND_BEGIN = Duration.ofMillis(150);
    private static final long PAGE_NANOS = 40_000;
    private static final int PART_TO_SETTLE = 16;

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static FaultPlan of(FaultOptions o, List<Integer> allowedCpus) {
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
        return new FaultPlan(o, scenarios(o, allowedCpus, skipped), skipped, o.run.rounds(DEFAULT_ROUNDS));
    }

    private static List<FaultScenario> scenarios(FaultOptions o, List<Integer> allowed, List<String> skipped) {
        List<Integer> cpus = RunOptions.cpus(o.cpus, allowed, 3);
        List<FaultScenario> scenarios = new ArrayList<>();
        List<FaultCase> cases = o.cases.isEmpty() ? List.of(FaultCase.values()) : o.cases;
        for (Idle idle : o.run.idle(List.of(Idle.SPIN, Idle.BLOCK), cpus.size(), skipped)) {
            for (FaultCase one : cases.stream().distinct().toList()) {
                if (one.evicts() && o.backing == Backing.ANONYMOUS) {
                    String why = "--case " + one.label() + " needs --backing memfd: nothing else can be evicted";
                    require(o.cases.isEmpty(), why);
                    skipped.add(why);
                    continue;
                }
                if (one.space() == FaultSpace.ENCRYPTED
                        && LibCrypto.load(Optional.empty()) instanceof LibCrypto.Loading.Failed failed) {
                    String why = "--case " + one.label() + ": " + failed;
                    require(o.cases.isEmpty(), why);
                    skipped.add(why);
                    continue;
                }
                FaultPlacement placement = FaultPlacement.of(idle, cpus);
                scenarios.add(new FaultScenario(
                        one, idle, one.hasOtherGuest() ? placement.withGuestsApart(cpus) : placement));
            }
        }
        return scenarios;
    }

    @Override
    public Subject subject() {
        return Subject.FAULT;
    }

    @Override
    public RunOptions run() {
        return given.run;
    }

    @Override
    public long allRounds() {
        return (long) scenarios.size() * rounds;
    }

    /** About how long agents take to start and to warm up, in all. */
    Duration prepared() {
        long idles = scenarios.stream().map(FaultScenario::idle).distinct().count();
        return given.warmup.plus(START).multipliedBy(idles);
    }

    /** About how long a round of one side takes. */
    Duration side() {
        return ROUND_BEGIN.plusNanos(PAGE_NANOS * given.pages);
    }

    @Override
    public Duration expected() {
        return prepared().plus(side().multipliedBy(2 * allRounds()));
    }

    /** For all agents' pools and the baseline's pages. */
    @Override
    public long hugepages() {
        long second = hasSecondHome() ? AgentFlags.hugepages(storedBytes(), FaultAgents.STAGING) : 0;
        long large = has(FaultCase.Beside.LARGE_STREAM) ? AgentFlags.hugepages(LARGE_LOCAL_BYTES) : 0;
        return AgentFlags.hugepages(homeBytes(), FaultAgents.STAGING) + second + AgentFlags.hugepages(bytes()) + large;
    }

    long bytes() {
        return given.pages * PAGE_BYTES;
    }

    /** The spaces of all cases, and of what they are compared with. */
    Set<FaultSpace> spaces() {
        EnumSet<FaultSpace> spaces = EnumSet.of(FaultSpace.PLAIN);
        scenarios.forEach(one -> spaces.add(one.kind().space()));
        return spaces;
    }

    /** Bytes of all spaces that the home has. */
    long homeBytes() {
        return (spaces().size() + (has(FaultCase.Beside.STREAM) ? 1 : 0)) * storedBytes() + largeBytes();
    }

    /** Bytes of the space in pages of 2 MiB at its home, and of the map of them; 0 if there is none. */
    private long largeBytes() {
        return has(FaultCase.Beside.LARGE_STREAM) ? LARGE_STREAM_BYTES + LARGE_PAGE_BYTES : 0;
    }

    private boolean has(FaultCase.Beside beside) {
        return scenarios.stream().anyMatch(one -> one.kind().beside() == beside);
    }

    /** What one space takes at a home: its pages, and the map of those that the home has. */
    long storedBytes() {
        return bytes() + Presence.of(given.pages, PAGE_BYTES).pages() * PAGE_BYTES;
    }

    /** Whether pages of some space have a second home. */
    boolean hasSecondHome() {
        return spaces().contains(FaultSpace.MIRRORED);
    }

    /** Touches of each round that are not recorded, at first. */
    long settle() {
        return given.pages / PART_TO_SETTLE;
    }

    /** The longest that one round may take: a page in 10 ms on average, and time to start. */
    Duration roundTimeout() {
        return Duration.ofSeconds(60).plusMillis(given.pages * 10);
    }
}
