package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.LinkLimit;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.ReaderWatch;
import io.farpage.it.harness.Soak;
import io.farpage.it.harness.TimedReads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * What migration by heat gains a guest whose hot extents share one home, and what it costs one whose load is even.
 * Prints both.
 */
@NeedsUserfaultfd
@Tag("soak")
@Tag("measurement")
class MigrationLatencyTest {
    private static final int PAGE = 4096;
    private static final int EXTENT = 1024;
    private static final int EXTENTS = 30;
    /** A fifth of the extents, with nine tenths of the reads. */
    private static final int HOT = 6;

    private static final int LIMIT = 512;
    private static final int MBIT_PER_SECOND = 100;
    private static final int THREADS = 8;
    private static final Duration INTERVAL = Duration.ofSeconds(2);
    private static final Duration QUIET = Duration.ofSeconds(Soak.part(120));
    private static final Duration WARM = Duration.ofSeconds(2);
    private static final Duration WINDOW = Duration.ofSeconds(6);
    private static final int EVEN_EXTENTS = 16;
    private static final int EVEN_PAGES = EVEN_EXTENTS * EXTENT;
    private static final int EVEN_THREADS = 3;
    private static final Duration EVEN_INTERVAL = Duration.ofSeconds(10);
    /** For the coordinator to be as it is long after its start. */
    private static final Duration SETTLED = Duration.ofSeconds(20);

    private static final Duration TURN = Duration.ofMillis(200);
    private static final List<String> HOMES = List.of("b", "c", "d");

    private final Map<String, String> addresses = new HashMap<>();
    private final List<PagedRam> rams = new ArrayList<>();
    private Optional<Cluster> started = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(this::cluster);

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster() {
        return started.orElseThrow();
    }

    private void start(boolean rebalances, Duration interval) {
        Cluster cluster = Cluster.startProcess(Map.of(
                "lease.duration", "15s",
                "lease.heartbeat_interval", "300ms",
                "rebalance.enabled", Boolean.toString(rebalances),
                "rebalance.interval", interval.toMillis() + "ms",
                // What a slow machine reaches with the load, and not without.
                "rebalance.idle_faults", "300"));
        started = Optional.of(cluster);
        // Too small for an extent, so the guest's node is never chosen.
        cluster.launchAgent("a", Map.of("pool.exported", "2MiB"));
        long pid = ProcessHandle.current().pid();
        for (String home : HOMES) {
            String address = "127.%d.%d.%d".formatted(64 + pid / 256 % 128, pid % 256, 2 + addresses.size());
            addresses.put(home, address);
            cluster.launchAgent(home, Map.of("pool.exported", "320MiB", "tcp.address", address));
        }
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        rams.forEach(PagedRam::close);
        started.ifPresent(Cluster::close);
    }

    private void create(String space, int extents, String home) throws CoordinatorException {
        cluster()
                .client()
                .createSpace(new SpaceRequest(
                        space, (long) extents * EXTENT * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(home))));
    }

    /** A guest whose pages are all at their home, but for those that it may keep. */
    private PagedRam attach(String space, int extents) {
        Path socket = directory.resolve(space);
        int pages = extents * EXTENT;
        new Guests(cluster(), "a", "b").attach(space, socket, (long) pages * PAGE, (long) LIMIT * PAGE);
        PagedRam ram = PagedRam.handOver(socket, pages);
        rams.add(ram);
        TimedReads.fill(ram, pages);
        return ram;
    }

    private long moves(String which) {
        return cluster()
                .coordinator()
                .rest()
                .get("/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("farpage_coordinator_moves_" + which + "_total"))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow();
    }

    private static int skewed(SplittableRandom random) {
        int extent = random.nextInt(10) < 9 ? random.nextInt(HOT) : HOT + random.nextInt(EXTENTS - HOT);
        return extent * EXTENT + random.nextInt(EXTENT);
    }

    private static boolean isSpread(ReaderWatch watch) {
        return watch.isSettled()
                && watch.readFrom("b", 0, HOT) <= HOT / 2
                && watch.readFrom("c", 0, HOT) >= 1
                && watch.readFrom("d", 0, HOT) >= 1;
    }

    /** Looks until no extent has moved for a time. The time begins anew with every move. */
    private static void awaitQuiet(ReaderWatch watch, Duration quiet, Duration within) {
        await("extents that rest, and have spread", within)
                .pollInterval(Duration.ofMillis(50))
                .untilAsserted(() -> {
                    watch.look();
                    assertTrue(
                            isSpread(watch) && watch.seconds() - watch.lastChange() >= quiet.toSeconds(),
                            () -> "after %.0f s: %s".formatted(watch.seconds(), watch.changes()));
                });
    }

    /**
     * Each home may send and receive 100 Mbit/s. Nine tenths of the reads are of a fifth of the extents, and all are on
     * one home at first. A decision every two seconds, so that what follows the moves fits in: the minute of their
     * rest, and one in which they might move again.
     */
    @Test
    void shouldMakeReadsFasterByMovingHotExtentsAndLeaveThem() throws Exception {
        Optional<String> obstacle = LinkLimit.cannotLimit();
        assumeTrue(obstacle.isEmpty(), obstacle::toString);
        start(true, INTERVAL);
        create("vm", EXTENTS, "b");
        // The others hold about as much, so that no extent moves for room alone.
        create("c-unused", EXTENTS - HOT / 2, "c");
        create("d-unused", EXTENTS - HOT / 2, "d");
        PagedRam ram = attach("vm", EXTENTS);
        try (LinkLimit _ = LinkLimit.of(MBIT_PER_SECOND, addresses.values().toArray(String[]::new));
                TimedReads reads = TimedReads.start(List.of(ram), MigrationLatencyTest::skewed, THREADS)) {
            ReaderWatch watch = new ReaderWatch(cluster().client(), "vm");
            reads.during(WARM);
            Histogram before = reads.during(WINDOW);
            assertEquals(0, moves("begun"), "extents moved before the measurement ended");
            awaitQuiet(watch, Duration.ofSeconds(1), Deadlines.LONG.multipliedBy(5));
            Histogram after = reads.during(WINDOW);
            awaitQuiet(watch, QUIET, Deadlines.LONG.multipliedBy(5).plus(QUIET));
            report(watch);
            print("before", before);
            print("after", after);
            assertEquals(List.of(), reads.wrong());
            assertEquals(
                    watch.changes().size(),
                    watch.changes().stream()
                            .map(ReaderWatch.Change::extent)
                            .distinct()
                            .count(),
                    () -> "an extent has moved twice: " + watch.changes());
            assertTrue(
                    after.getValueAtPercentile(50) < before.getValueAtPercentile(50), "the median has not become less");
            assertTrue(after.getTotalCount() > before.getTotalCount(), "no more reads in the same time");
        }
    }

    private void report(ReaderWatch watch) {
        System.out.printf(
                "skewed load of %d threads, 3 homes with %d Mbit/s each: last of %d moves of %d pages after %.1f s with"
                        + " a decision each %d s, %d begun, none in the %.0f s since; hot extents on b, c, d: %d, %d,"
                        + " %d%n",
                THREADS,
                MBIT_PER_SECOND,
                watch.changes().size(),
                EXTENT,
                watch.lastChange(),
                INTERVAL.toSeconds(),
                moves("begun"),
                watch.seconds() - watch.lastChange(),
                watch.readFrom("b", 0, HOT),
                watch.readFrom("c", 0, HOT),
                watch.readFrom("d", 0, HOT));
        System.out.println("moves: " + watch.changes());
    }

    private static void print(String when, Histogram reads) {
        System.out.printf(
                "reads %s: p50 %.2f ms, p99 %.2f ms, %.0f/s%n",
                when,
                reads.getValueAtPercentile(50) / 1e6,
                reads.getValueAtPercentile(99) / 1e6,
                reads.getTotalCount() / (double) WINDOW.toSeconds());
    }

    /**
     * Guests of each of three homes, all with the same load, and links without a limit, so that whatever migration
     * costs is missing from the reads. Half of the guests have spaces that were made without migration, of one extent,
     * and half with it, of {@value #EVEN_EXTENTS}. Short windows in which the one or the other half is read take turns,
     * so that both have the same of what else the host does. The coordinator decides all the while; what it uses is
     * told apart.
     */
    @Test
    void shouldCostAnEvenLoadLittle() throws Exception {
        start(false, EVEN_INTERVAL);
        // A shard looks at its guests one after the other, so both halves have guests at the beginning and at the end.
        List<PagedRam> whole = new ArrayList<>(attachEven("-first"));
        become(true);
        List<PagedRam> divided = new ArrayList<>(attachEven("-second"));
        divided.addAll(attachEven("-third"));
        become(false);
        whole.addAll(attachEven("-fourth"));
        become(true);
        List<Double> ratios = new ArrayList<>();
        Histogram with = new Histogram(3);
        Histogram without = new Histogram(3);
        try (TimedReads reads = TimedReads.start(whole, random -> random.nextInt(EVEN_PAGES), EVEN_THREADS)) {
            reads.during(SETTLED);
            reads.of(divided).during(SETTLED);
            double deciding = coordinatorCpu(() -> {
                for (int turn = 0; turn < Math.max(5, Soak.part(100)); turn++) {
                    Histogram one = new Histogram(3);
                    Histogram other = new Histogram(3);
                    one.add(reads.of(divided).during(TURN));
                    other.add(reads.of(whole).during(TURN));
                    other.add(reads.during(TURN));
                    one.add(reads.of(divided).during(TURN));
                    ratios.add((double) one.getTotalCount() / other.getTotalCount());
                    with.add(one);
                    without.add(other);
                }
            });
            assertEquals(0, moves("begun"), "an even load has moved extents");
            become(false);
            reads.during(SETTLED);
            double idle = coordinatorCpu(() -> reads.during(SETTLED));
            assertEquals(List.of(), reads.wrong());
            System.out.printf(
                    "even load on 3 homes, %d turns of %d ms: with migration %.3f times the reads (half of the turns"
                            + " %.3f..%.3f, standard error %.4f), p50 %.2f and %.2f us, p99 %.0f and %.0f us; the"
                            + " coordinator uses %.2f %% of a core, without migration %.2f %%; 0 moves%n",
                    ratios.size(),
                    4 * TURN.toMillis(),
                    quantile(ratios, 0.5),
                    quantile(ratios, 0.25),
                    quantile(ratios, 0.75),
                    standardError(ratios),
                    with.getValueAtPercentile(50) / 1e3,
                    without.getValueAtPercentile(50) / 1e3,
                    with.getValueAtPercentile(99) / 1e3,
                    without.getValueAtPercentile(99) / 1e3,
                    deciding,
                    idle);
        }
        assertTrue(quantile(ratios, 0.5) > 0.9, () -> "migration costs much: " + ratios);
    }

    private List<PagedRam> attachEven(String suffix) throws CoordinatorException {
        List<PagedRam> all = new ArrayList<>();
        for (String home : HOMES) {
            create(home + suffix, EVEN_EXTENTS, home);
            all.add(attach(home + suffix, EVEN_EXTENTS));
        }
        return all;
    }

    private void become(boolean rebalances) {
        cluster().coordinatorProcess().process().kill();
        cluster().coordinatorProcess().restart(Map.of("rebalance.enabled", Boolean.toString(rebalances)));
    }

    /** What is done while the CPU time of the coordinator is measured. */
    @FunctionalInterface
    private interface Work {
        void run() throws Exception;
    }

    /** Percent of a core. */
    private double coordinatorCpu(Work work) throws Exception {
        long pid = cluster().coordinatorProcess().process().pid();
        double used = ProcFs.cpuSeconds(pid);
        long begun = System.nanoTime();
        work.run();
        return 100 * (ProcFs.cpuSeconds(pid) - used) / ((System.nanoTime() - begun) / 1e9);
    }

    private static double quantile(List<Double> values, double part) {
        return values.stream()
                .sorted()
                .skip((long) (part * (values.size() - 1)))
                .findFirst()
                .orElseThrow();
    }

    /** The standard error of the mean of the values. */
    private static double standardError(List<Double> values) {
        double mean = values.stream().mapToDouble(value -> value).average().orElseThrow();
        double squares = values.stream()
                .mapToDouble(value -> (value - mean) * (value - mean))
                .sum();
        return Math.sqrt(squares / (values.size() - 1) / values.size());
    }
}
