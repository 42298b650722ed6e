package io.farpage.bench.snapshot;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.farpage.agent.control.guest.SnapshotStatus;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.guest.BenchGuest;
import io.farpage.bench.guest.GuestAgents;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.config.BytesOption;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench snapshot}. */
@Command(
        name = "snapshot",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine, and in each round a guest whose memory is all"
                        + " written. Makes a snapshot of it while it goes on writing to random pages, and then has it"
                        + " write to as many pages that are only write-protected.")
public final class SnapshotCommand implements Callable<Integer> {
    private static final int SPINNING_CPUS = 3;
    private static final long MIB = 1 << 20;
    private static final long LEAST = 8 * MIB;
    private static final long MOST = 4L << 30;
    private static final int MAX_ROUNDS = 7;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(90);
    private static final long SNAPSHOT_NANOS = MILLISECONDS.toNanos(120_000);
    /** How long a VMM takes to be paused after a preparation. */
    private static final long PAUSED_AFTER_NANOS = MILLISECONDS.toNanos(20);

    /** Stores between two looks at how far the snapshot is. */
    private static final int STORES = 100;

    @Option(
            names = "--memory",
            converter = BytesOption.class,
            defaultValue = "256MiB",
            description =
                    "Memory of each guest, 8MiB to 4GiB; the home has a pool of twice that for each round (default:"
                            + " ${DEFAULT-VALUE})")
    private long memory;

    @Option(
            names = "--rounds",
            defaultValue = "5",
            description = "Rounds, 1 to 7, after one that is not counted (default: ${DEFAULT-VALUE})")
    private int rounds;

    @Option(
            names = "--unprepared",
            description = "Freeze the memory without protecting it before, while the guest runs")
    private boolean unprepared;

    private final MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);

    /**
     * One round.
     *
     * @param prepareMillis in which pages were protected while the guest ran
     * @param between stores to protected pages until the VMM was paused
     * @param freezeMillis for which a VMM has to be paused
     * @param saved MiB/s at which the pages reached the home
     * @param first nanoseconds of a store to a page that was frozen
     * @param later nanoseconds of a store to a page that was saved
     */
    private record Round(
            double prepareMillis,
            Histogram between,
            double freezeMillis,
            double saved,
            Histogram first,
            Histogram later) {}

    @Override
    public Integer call() throws InterruptedException {
        if (memory < LEAST || memory > MOST || memory % (2 * MIB) != 0) {
            throw new UsageException("--memory " + memory + ": must be a multiple of 2MiB from 8MiB to 4GiB");
        }
        if (rounds < 1 || rounds > MAX_ROUNDS) {
            throw new UsageException("--rounds " + rounds + ": must be from 1 to " + MAX_ROUNDS);
        }
        List<Integer> cpus = Cpus.allowed();
        Idle idle = cpus.size() < SPINNING_CPUS ? Idle.BLOCK : Idle.SPIN;
        int homeCpu = cpus.getFirst();
        int nodeCpu = idle.needsTwoCpus() && cpus.size() > 1 ? cpus.get(1) : homeCpu;
        List<Round> measured = new ArrayList<>();
        try (Children children = Children.open(
                        Programs.ofThisJvm(), Installation.root().resolve("bench/target/report/logs"), START_TIMEOUT);
                Coordinator coordinator = Coordinator.start(children);
                GuestAgents agents = GuestAgents.start(
                        children,
                        coordinator,
                        new GuestAgents.Setting(idle, homeCpu, nodeCpu, memory, false),
                        2 * (rounds + 1))) {
            for (int round = 0; round <= rounds; round++) {
                try (BenchGuest guest = agents.begin("bench-snapshot-" + round)) {
                    Round done = round(guest, round);
                    if (round > 0) {
                        measured.add(done);
                    }
                }
            }
        }
        print(measured, idle);
        return 0;
    }

    private Round round(BenchGuest guest, int number) throws InterruptedException {
        guest.write(number);
        String name = "bench-snapshot-of-" + number;
        SplittableRandom random = new SplittableRandom(number);
        boolean[] stored = new boolean[guest.pages()];
        long prepareMicros = unprepared ? 0 : guest.prepareSnapshot(name).micros();
        Histogram between = new Histogram(3);
        long pausedAt = System.nanoTime() + (unprepared ? 0 : PAUSED_AFTER_NANOS);
        while (System.nanoTime() - pausedAt < 0) {
            store(guest, random, stored, between, 1);
        }
        SnapshotStatus status = guest.snapshot(name);
        long began = System.nanoTime();
        double frozen = status.frozenBytes();
        Arrays.fill(stored, false);
        Histogram first = new Histogram(3);
        while (!status.hasEnded()) {
            if (System.nanoTime() - began > SNAPSHOT_NANOS) {
                throw new CommandException(
                        "no snapshot within %d s: %s".formatted(NANOSECONDS.toSeconds(SNAPSHOT_NANOS), status));
            }
            store(guest, random, stored, first, STORES);
            status = guest.snapshot();
        }
        if (!status.state().equals(SnapshotStatus.MADE)) {
            throw new CommandException("no snapshot: " + status.detail());
        }
        double seconds = (status.millis() - status.freezeMicros() / 1e3) / 1e3;
        Histogram later = new Histogram(3);
        store(guest, random, stored, later, (int) Math.max(STORES, first.getTotalCount()));
        return new Round(
                prepareMicros / 1e3, between, status.freezeMicros() / 1e3, frozen / MIB / seconds, first, later);
    }

    /** Stores to pages that were not stored to since the snapshot. */
    private void store(BenchGuest guest, SplittableRandom random, boolean[] stored, Histogram times, int count) {
        for (int i = 0; i < count; i++) {
            int page = random.nextInt(stored.length);
            if (!stored[page]) {
                stored[page] = true;
                long before = System.nanoTime();
                PagedAccess.write(guest.address(page), word);
                times.recordValue(System.nanoTime() - before);
            }
        }
    }

    private void print(List<Round> measured, Idle idle) {
        System.out.printf(
                Locale.ROOT,
                "%d MiB, all dirty, %d rounds, tcp, %s; median (least to most)%n",
                memory / MIB,
                measured.size(),
                idle.label());
        if (!unprepared) {
            print("prepared within", "ms", "%.2f", measured, Round::prepareMillis);
            print("stores until paused", "", "%.0f", measured, round ->
                    (double) round.between().getTotalCount());
            print("store, prepared p50", "us", "%.1f", measured, round -> micros(round.between(), 50));
            print("store, prepared p99", "us", "%.1f", measured, round -> micros(round.between(), 99));
        }
        print("frozen within", "ms", "%.2f", measured, Round::freezeMillis);
        print("saved at", "MiB/s", "%.0f", measured, Round::saved);
        print("store, frozen p50", "us", "%.1f", measured, round -> micros(round.first(), 50));
        print("store, frozen p99", "us", "%.1f", measured, round -> micros(round.first(), 99));
        print("store, saved p50", "us", "%.1f", measured, round -> micros(round.later(), 50));
        print("store, saved p99", "us", "%.1f", measured, round -> micros(round.later(), 99));
        print(
                "ratio of p99",
                "",
                "%.2f",
                measured,
                round -> micros(round.first(), 99) / Math.max(1e-3, micros(round.later(), 99)));
    }

    private static double micros(Histogram times, double percentile) {
        return times.getValueAtPercentile(percentile) / 1e3;
    }

    private static void print(
            String name, String unit, String format, List<Round> rounds, ToDoubleFunction<Round> value) {
        double[] sorted = rounds.stream().mapToDouble(value).sorted().toArray();
        double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
        System.out.printf(
                Locale.ROOT,
                "%-19s " + format + " (" + format + " to " + format + ") %s%n",
                name,
                median,
                sorted[0],
                sorted[sorted.length - 1],
                unit);
    }
}
