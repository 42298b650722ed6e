package io.farpage.it;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.LinkLimit;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
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
    private static final int HOT = 6 * EXTENT;
    private static final int LIMIT = 512;
    private static final int MBIT_PER_SECOND = 100;
    private static final long HIGHEST_NANOS = 100_000_000_000L;
    private static final Duration INTERVAL = Duration.ofSeconds(2);
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

    private void start(boolean rebalances) {
        Cluster cluster = Cluster.start(Map.of(
                "lease.duration", "15s",
                "lease.heartbeat_interval", "300ms",
                "rebalance.enabled", Boolean.toString(rebalances),
                "rebalance.interval", INTERVAL.toMillis() + "ms",
                "rebalance.idle_faults", "0"));
        started = Optional.of(cluster);
        // Too small for an extent, so the guest's node is never chosen.
        cluster.launchAgent("a", Map.of("pool.exported", "2MiB"));
        long pid = ProcessHandle.current().pid();
        for (String home : HOMES) {
            String address = "127.%d.%d.%d".formatted(64 + pid / 256 % 128, pid % 256, 2 + addresses.size());
            addresses.put(home, address);
            cluster.launchAgent(home, Map.of("pool.exported", "48MiB", "tcp.address", address));
        }
        cluster.agents().forEach(agent -> agent.awaitListening());
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        rams.forEach(PagedRam::close);
        started.ifPresent(Cluster::close);
    }

    private void create(String space, int pages, String home) throws CoordinatorException {
        cluster()
                .client()
                .createSpace(
                        new SpaceRequest(space, (long) pages * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(home))));
    }

    /** A guest whose pages are all at their home, but for those that it may keep. */
    private PagedRam attach(String space, int pages) {
        Path socket = directory.resolve(space);
        new Guests(cluster(), "a", "b").attach(space, socket, (long) pages * PAGE, (long) LIMIT * PAGE);
        PagedRam ram = PagedRam.handOver(socket, pages);
        rams.add(ram);
        byte[] content = new byte[PAGE];
        for (int page = 0; page < pages; page++) {
            content[0] = (byte) (page | 1);
            ram.write(page, content);
        }
        return ram;
    }

    private long readFrom(String home) throws CoordinatorException {
        return cluster().client().extents("vm").orElseThrow().extents().stream()
                .limit(HOT / EXTENT)
                .filter(extent -> extent.primary().node().equals(home))
                .count();
    }

    private boolean isSpread() throws CoordinatorException {
        List<Extent> extents = cluster().client().extents("vm").orElseThrow().extents();
        return readFrom("b") <= 3
                && readFrom("c") >= 1
                && readFrom("d") >= 1
                && extents.stream()
                        .allMatch(extent -> extent.joining().isEmpty()
                                && extent.droppedHomes().isEmpty());
    }

    private long movesBegun() {
        return cluster()
                .coordinator()
                .rest()
                .get("/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("farpage_coordinator_moves_begun_total"))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow();
    }

    /** Threads that touch pages at random, all as likely, and record how long each touch takes; few pages are resident. */
    private static final class Touches implements AutoCloseable {
        private final Recorder latencies = new Recorder(HIGHEST_NANOS, 3);
        private final List<Thread> threads = new ArrayList<>();
        private volatile boolean over;

        Touches(List<PagedRam> rams, int pages, int count) {
            for (int i = 0; i < count; i++) {
                SplittableRandom random = new SplittableRandom(i);
                threads.add(Thread.ofPlatform().daemon().name("touches-" + i).start(() -> run(rams, pages, random)));
            }
        }

        private void run(List<PagedRam> rams, int pages, SplittableRandom random) {
            while (!over) {
                PagedRam ram = rams.get(random.nextInt(rams.size()));
                int page = random.nextInt(pages);
                long begun = System.nanoTime();
                ram.touch(page);
                latencies.recordValue(Math.min(System.nanoTime() - begun, HIGHEST_NANOS));
            }
        }

        Histogram during(Duration time) throws InterruptedException {
            latencies.getIntervalHistogram();
            Thread.sleep(time);
            return latencies.getIntervalHistogram();
        }

        @Override
        public void close() {
            over = true;
            await("the end of the touches")
                    .atMost(Cluster.TIMEOUT)
                    .until(() -> threads.stream().noneMatch(Thread::isAlive));
        }
    }

    /** Each home may send 100 Mbit/s. Six threads of a guest ask one of them for every page, until the extents have spread. */
    @Test
    void shouldMakeAccessesFasterByMovingHotExtentsOfOneHome() throws Exception {
        Optional<String> obstacle = LinkLimit.cannotLimit();
        assumeTrue(obstacle.isEmpty(), obstacle::toString);
        start(true);
        create("vm", 8 * EXTENT, "b");
        // The others hold as much, so that no extent moves for room alone.
        create("c-unused", 8 * EXTENT, "c");
        create("d-unused", 8 * EXTENT, "d");
        PagedRam ram = attach("vm", 8 * EXTENT);
        try (LinkLimit _ = LinkLimit.of(MBIT_PER_SECOND, addresses.values().toArray(String[]::new));
                Touches touches = new Touches(List.of(ram), HOT, 6)) {
            long begun = System.nanoTime();
            Histogram before = touches.during(INTERVAL.multipliedBy(2));
            assertEquals(HOT / EXTENT, readFrom("b"), "extents moved before the measurement ended");
            await("the hot extents on three homes")
                    .atMost(Cluster.TIMEOUT.multipliedBy(5))
                    .pollInterval(Duration.ofMillis(50))
                    .until(this::isSpread);
            double seconds = (System.nanoTime() - begun) / 1e9;
            Histogram after = touches.during(INTERVAL.multipliedBy(2));
            System.out.printf(
                    "skewed load of 6 threads, 3 homes with %d Mbit/s each: spread after %.1f s with a decision each %d s, %d moves of %d pages begun%n",
                    MBIT_PER_SECOND, seconds, INTERVAL.toSeconds(), movesBegun(), EXTENT);
            print("before", before);
            print("after", after);
            assertTrue(
                    after.getValueAtPercentile(50) < before.getValueAtPercentile(50), "the median has not become less");
            assertTrue(after.getTotalCount() > before.getTotalCount(), "no more accesses in the same time");
        }
    }

    /** A guest on each of three homes, all with the same load. Rounds with and without migration take turns. */
    @Test
    void shouldCostAnEvenLoadLittleAndMoveNothing() throws Exception {
        start(false);
        for (String home : HOMES) {
            create(home + "-vm", 2 * EXTENT, home);
            attach(home + "-vm", 2 * EXTENT);
        }
        List<Double> ratios = new ArrayList<>();
        try (Touches touches = new Touches(rams, 2 * EXTENT, 3)) {
            touches.during(Duration.ofSeconds(5));
            for (int round = 0; round < Math.max(2, Soak.part(8)); round++) {
                long without = round(touches, false);
                ratios.add((double) round(touches, true) / without);
                assertEquals(0, movesBegun(), "an even load has moved extents");
            }
        }
        ratios.sort(Comparator.naturalOrder());
        System.out.printf(
                "even load on 3 homes, %d pairs of rounds: with migration %.3f times the accesses (%.3f..%.3f)%n",
                ratios.size(), ratios.get(ratios.size() / 2), ratios.getFirst(), ratios.getLast());
        assertTrue(ratios.get(ratios.size() / 2) > 0.8, () -> "migration costs much: " + ratios);
    }

    private long round(Touches touches, boolean rebalances) throws InterruptedException {
        cluster().coordinator().process().kill();
        cluster()
                .coordinator()
                .restart(Map.of("rebalance.enabled", Boolean.toString(rebalances), "rebalance.interval", "500ms"));
        touches.during(Duration.ofSeconds(3));
        return touches.during(Duration.ofSeconds(3)).getTotalCount();
    }

    private static void print(String when, Histogram accesses) {
        System.out.printf(
                "accesses %s: p50 %.2f ms, p99 %.2f ms, %d in the same time%n",
                when,
                accesses.getValueAtPercentile(50) / 1e6,
                accesses.getValueAtPercentile(99) / 1e6,
                accesses.getTotalCount());
    }
}
