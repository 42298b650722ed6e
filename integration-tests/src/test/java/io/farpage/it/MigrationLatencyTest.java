package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What migration by heat gains a guest whose hot extents share one home, and what it costs one whose load is even. Prints both. */
@Timeout(400)
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
    private static final int EVEN_EXTENTS = 4;
    private static final int EVEN_THREADS = 3;
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
        Cluster cluster = Cluster.start(Map.of(
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
            cluster.launchAgent(home, Map.of("pool.exported", "192MiB", "tcp.address", address));
        }
        cluster.agents().forEach(agent -> agent.awaitListening());
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
    private static void awaitQuiet(ReaderWatch watch, Duration quiet, Duration atMost) throws Exception {
        while (!isSpread(watch) || watch.seconds() - watch.lastChange() < quiet.toSeconds()) {
            assertTrue(
                    watch.seconds() < atMost.toSeconds(),
                    () -> "extents still move after %.0f s, or have not spread: %s"
                            .formatted(watch.seconds(), watch.changes()));
            Thread.sleep(50);
            watch.look();
        }
    }

    /**
     * Each home may send and receive 100 Mbit/s. Nine tenths of the reads are of a fifth of the extents, and all are on one home at first. A decision every two
     * seconds, so that what follows the moves fits in: the minute of their rest, and one in which they might move again.
     */
    @Test
    void shouldMakeReadsFasterByMovingHotExtentsOfOneHomeAndLeaveThemThere() throws Exception {
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
            awaitQuiet(watch, Duration.ofSeconds(1), Cluster.TIMEOUT.multipliedBy(5));
            Histogram after = reads.during(WINDOW);
            awaitQuiet(watch, QUIET, Cluster.TIMEOUT.multipliedBy(5).plus(QUIET));
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
                "skewed load of %d threads, 3 homes with %d Mbit/s each: last of %d moves of %d pages after %.1f s with a decision each %d s,"
                        + " %d begun, none in the %.0f s since; hot extents on b, c, d: %d, %d, %d%n",
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

    /** What a round of an even load had. */
    private record Round(long reads, double medianMicros, double coordinatorCpu) {}

    /**
     * A guest on each of three homes, all with the same load, and links without a limit, so that whatever migration costs is missing from the reads. Rounds
     * with and without it take turns, each with spaces that were made as the coordinator then was: in pieces, or in one. Agents report heat every five seconds,
     * so decisions each 500 ms see the same noise several times; no home counts as under pressure here, and what is measured is counting, reporting and deciding.
     */
    @Test
    void shouldCostAnEvenLoadLittle() throws Exception {
        start(false, Duration.ofSeconds(10));
        List<PagedRam> whole = attachEven("-whole");
        become(true);
        List<PagedRam> divided = attachEven("-divided");
        List<Double> reads = new ArrayList<>();
        List<Double> medians = new ArrayList<>();
        List<Double> cpu = new ArrayList<>();
        for (int pair = 0; pair < Math.max(2, Soak.part(6)); pair++) {
            boolean first = pair % 2 == 0;
            Round one = round(first, first ? divided : whole);
            Round other = round(!first, first ? whole : divided);
            Round with = first ? one : other;
            Round without = first ? other : one;
            reads.add((double) with.reads() / without.reads());
            medians.add(with.medianMicros() / without.medianMicros());
            cpu.add(with.coordinatorCpu() - without.coordinatorCpu());
        }
        System.out.printf(
                "even load on 3 homes, %d pairs of rounds, a decision each 500 ms: with migration %s times the reads, %s times the median,"
                        + " %s %% of a core more used by the coordinator%n",
                reads.size(), spread(reads), spread(medians), spread(cpu));
        // What else a machine does can take more than migration costs.
        assertTrue(median(reads) > 0.5, () -> "migration costs much: " + reads);
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
        cluster().coordinator().process().kill();
        cluster()
                .coordinator()
                .restart(Map.of(
                        "rebalance.enabled",
                        Boolean.toString(rebalances),
                        "rebalance.interval",
                        "500ms",
                        "rebalance.idle_faults",
                        "1000000"));
    }

    private Round round(boolean rebalances, List<PagedRam> guests) throws InterruptedException {
        become(rebalances);
        try (TimedReads reads =
                TimedReads.start(guests, random -> random.nextInt(EVEN_EXTENTS * EXTENT), EVEN_THREADS)) {
            reads.during(Duration.ofSeconds(3));
            long pid = cluster().coordinator().process().pid();
            double used = ProcFs.cpuSeconds(pid);
            Duration window = Duration.ofSeconds(4);
            Histogram took = reads.during(window);
            double percent = 100 * (ProcFs.cpuSeconds(pid) - used) / window.toSeconds();
            assertEquals(List.of(), reads.wrong());
            assertEquals(0, moves("begun"), "an even load has moved extents");
            return new Round(took.getTotalCount(), took.getValueAtPercentile(50) / 1e3, percent);
        }
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    private static String spread(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return "%.3f (%.3f..%.3f)".formatted(median(values), sorted.getFirst(), sorted.getLast());
    }
}
