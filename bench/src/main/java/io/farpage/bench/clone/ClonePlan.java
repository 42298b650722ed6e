package io.farpage.bench.clone;

import static io.farpage.bench.command.Plan.require;

import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.report.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What to measure, checked.
 *
 * @param given the options
 * @param idle how both agents wait
 * @param skipped what is left out, and why
 * @param mounts whether snapshots can be mounted
 * @param rounds of each run
 */
record ClonePlan(
        CloneOptions given, Idle idle, FaultPlacement placement, List<String> skipped, boolean mounts, int rounds)
        implements Plan {
    static final int PAGE_BYTES = 4096;

    static final long STAGING = 16L << 20;

    private static final int DEFAULT_ROUNDS = 5;
    private static final long MIB = 1 << 20;
    private static final long MOST_MEMORY = 16L << 30;
    private static final long MOST_LARGE = 64L << 30;
    private static final int MAX_CLONES = 1000;
    private static final long MIN_TOUCHES = 16;
    private static final int MAX_SHARERS = 500;
    private static final int MAX_READAHEAD = 1024;
    /** As a quiet machine of two CPUs takes it. */
    private static final Duration START = Duration.ofSeconds(15);

    private static final Duration ROUND_BEGIN = Duration.ofMillis(200);
    private static final Duration CLONE_START = Duration.ofMillis(100);
    private static final long PAGE_NANOS = 10_000;
    private static final int PART_TO_SETTLE = 16;
    private static final int PART_TO_WRITE = 64;
    private static final int EXTENTS = 64;
    private static final int SPINNING_CPUS = 3;
    private static final long UNIT = 2 * MIB;

    private static final long LONGEST_SECONDS = 3600;
    private static final long START_SECONDS = 60;
    private static final long TOUCHES_A_SECOND = 100;

    /** Runs that need no mounted file, and those that do. */
    private static final int RUNS = 3;

    private static final int RUNS_OF_FILES = 3;

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @param noMounts why snapshots cannot be mounted, if they cannot
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static ClonePlan of(CloneOptions o, List<Integer> allowedCpus, Optional<String> noMounts) {
        requireSize("--memory", o.memory, UNIT, "2MiB", MOST_MEMORY, "16GiB");
        requireSize("--large", o.large, o.memory + UNIT, "2MiB more than --memory", MOST_LARGE, "64GiB");
        int rounds = o.run.rounds(DEFAULT_ROUNDS);
        require(
                o.clones >= rounds && o.clones <= MAX_CLONES,
                "--clones " + o.clones + ": must be from one for each of " + rounds + " rounds to " + MAX_CLONES);
        long pages = o.memory / PAGE_BYTES;
        require(
                o.touches >= MIN_TOUCHES && o.touches <= pages,
                "--touches " + o.touches + ": must be from " + MIN_TOUCHES + " to the " + pages + " pages of --memory");
        require(
                o.sharers >= 1 && o.sharers <= MAX_SHARERS,
                "--sharers " + o.sharers + ": must be from 1 to " + MAX_SHARERS);
        require(
                o.readahead >= 0 && o.readahead <= MAX_READAHEAD,
                "--readahead " + o.readahead + ": must be from 0 to " + MAX_READAHEAD);
        require(
                o.warmup.compareTo(Duration.ofHours(1)) <= 0,
                "--warmup " + o.warmup.toSeconds() + "s: must be at most 1h");
        List<String> skipped = new ArrayList<>();
        noMounts.ifPresent(why -> skipped.add("runs with the file of a mounted snapshot: " + why));
        List<Integer> cpus = RunOptions.cpus(o.cpus, allowedCpus, SPINNING_CPUS);
        List<Idle> idle = o.run.idle(
                List.of(cpus.size() < SPINNING_CPUS ? Idle.BLOCK : Idle.SPIN), cpus.size(), new ArrayList<>());
        require(idle.size() == 1, "--idle: one way to wait is measured at a time, and " + idle.size() + " are given");
        return new ClonePlan(
                o, idle.getFirst(), FaultPlacement.of(idle.getFirst(), cpus), skipped, noMounts.isEmpty(), rounds);
    }

    private static void requireSize(
            String option, long bytes, long least, String saidLeast, long most, String saidMost) {
        require(
                bytes >= least && bytes <= most && bytes % UNIT == 0,
                option + " " + bytes + ": must be a multiple of 2MiB from " + saidLeast + " to " + saidMost);
    }

    @Override
    public Subject subject() {
        return Subject.CLONE;
    }

    @Override
    public RunOptions run() {
        return given.run;
    }

    @Override
    public long allRounds() {
        return (long) (mounts ? RUNS + RUNS_OF_FILES : RUNS) * rounds + (mounts ? 1 : 0);
    }

    @Override
    public Duration expected() {
        Duration copied = Duration.ofNanos(PAGE_NANOS * (2 * pages() + (mounts ? 2L * given.sharers * pages() : 0)));
        long starts = (mounts ? 3L : 2L) * given.clones;
        Duration touched = Duration.ofNanos(PAGE_NANOS * given.touches).plus(ROUND_BEGIN);
        return START.plus(given.warmup)
                .plus(copied)
                .plus(CLONE_START.multipliedBy(starts))
                .plus(touched.multipliedBy(2 * allRounds()));
    }

    @Override
    public long hugepages() {
        return AgentFlags.hugepages(homeBytes(), STAGING);
    }

    /** Bytes that the pool of the home needs for both snapshots: whole extents, and one behind the pages of each. */
    long homeBytes() {
        return room(given.memory) + room(given.large);
    }

    private long room(long bytes) {
        long extent = AgentFlags.roundUp(Math.ceilDiv(bytes, EXTENTS));
        return (Math.ceilDiv(given.memory, extent) + 1) * extent;
    }

    /** Pages of each snapshot that are written. */
    long pages() {
        return given.memory / PAGE_BYTES;
    }

    /** Touches of each round that are not recorded, at first. */
    long settle() {
        return given.touches / PART_TO_SETTLE;
    }

    /** Pages that each of the processes writes to that map a snapshot at the same time. */
    long dirtyPages() {
        return Math.max(1, pages() / PART_TO_WRITE);
    }

    /** Clones that are started in a round. */
    int clonesOf(int round) {
        return given.clones * (round + 1) / rounds - given.clones * round / rounds;
    }

    /** The longest that touching pages may take: a page in 10 ms on average, and time to start; an hour at most. */
    Duration timeout(long touches) {
        return Duration.ofSeconds(Math.min(LONGEST_SECONDS, START_SECONDS + touches / TOUCHES_A_SECOND));
    }
}
