package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.FailingCluster;
import io.farpage.it.harness.Failure;
import io.farpage.it.harness.FailureTally;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A guest whose threads compare every page that they read, while homes, links, the coordinator and the guest's agent
 * fail in an order that a seed decides. {@code -Dfarpage.seed=N} repeats it, {@code -Dfarpage.failures=N} has {@code N}
 * failures, and {@code -Dfarpage.kinds=KILL_HOME,STOP_HOME} draws from these alone.
 */
@NeedsUserfaultfd
@Tag("processes")
class RandomFailuresTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 640;
    private static final int HALF = PAGES / 2;
    private static final int LIMIT = 128;
    private static final int THREADS = 3;
    /** Pages that are compared for each failure of a soak: 500 failures compare 10^7 pages. */
    private static final int COMPARED = 20_000;

    private static final List<String> HOMES = List.of("b", "c", "d", "e");
    private static final String SPACE = "vm";
    private static final String LOST = " is lost with its home";
    /** Around the deadlines: 20 ms of a hedge, 1 s until a home is dropped, 4 s of a lease. */
    private static final int[] ALL = {30, 900, 2_500, 6_000};

    private static final int[] SHORT = {30, 900};

    @SuppressWarnings("NullAway.Init") // set by each test
    private FailingCluster failing;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> failing.cluster());

    @TempDir
    private Path directory = Path.of("");

    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final SplittableRandom random = new SplittableRandom(seed);
    private final FailureTally tally = new FailureTally(seed);
    private int[] longestMillis = ALL;
    private boolean isSmall;
    private int compared = COMPARED;

    @AfterEach
    void end() {
        tally.print();
        if (failing != null) {
            failing.close();
        }
    }

    /** Without the starts of processes, which take most of the time. */
    @Test
    void shouldLoseNoPageToAFewShortFailures() throws Exception {
        longestMillis = SHORT;
        compared = 0;
        start(List.of("b", "c", "d"), Set.of());
        Set<Failure> kinds = kinds();
        kinds.removeAll(Set.of(Failure.KILL_HOME, Failure.KILL_COORDINATOR));
        loseNothing(2, 4, List.copyOf(kinds));
    }

    @Test
    @Timeout(7200)
    @Tag("soak")
    @Tag("long")
    void shouldLoseNoPageWhenOneThingFailsAfterAnother() throws Exception {
        start(HOMES, Set.of(FailingCluster.AGENT));
        loseNothing(2, failures(400), List.copyOf(kinds()));
    }

    /** Pages have one home each, and all that is killed is adopted by its successor. */
    @Test
    @Timeout(3600)
    @Tag("soak")
    void shouldLoseNoPageWithOneHomeWhenWhatIsKilledHasAKeeper() throws Exception {
        start(List.of("b", "c"), Set.of("a", "b", "c"));
        loseNothing(1, failures(50), List.copyOf(kinds()));
    }

    @Test
    @Timeout(3600)
    @Tag("soak")
    @Tag("long")
    void shouldAnnounceEveryLossAndShowNoWrongPageWhenFailuresOverlap() throws Exception {
        start(HOMES, Set.of());
        int failures = failures(100);
        for (int round = 0; tally.failures() < failures; round++) {
            overlap(SPACE + round, 2 + random.nextInt(3));
        }
    }

    private static int failures(int whole) {
        return Integer.getInteger("farpage.failures", Soak.part(whole));
    }

    private void start(List<String> homes, Set<String> kept) {
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        // Pools that hold a copy each, or so small that the space is placed in pieces.
        isSmall = random.nextBoolean();
        failing = new FailingCluster(homes, isSmall ? "2MiB" : "4MiB", kept, directory);
    }

    private Cluster cluster() {
        return failing.cluster();
    }

    private Guests guests() {
        return new Guests(cluster(), FailingCluster.AGENT, "b");
    }

    private PagedRam attach(String space, int replicas) throws CoordinatorException {
        cluster()
                .client()
                .createSpace(
                        new SpaceRequest(space, (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(failing.homes()))
                                .withReplicas(replicas));
        Path socket = directory.resolve(space);
        guests().attach(space, socket, (long) PAGES * PAGE, (long) LIMIT * PAGE);
        PagedRam ram = PagedRam.handOver(socket, PAGES, 1 + random.nextInt(2));
        guests().awaitAttached(space);
        return ram;
    }

    private List<Extent> extents(String space) throws CoordinatorException {
        return cluster().client().extents(space).orElseThrow().extents();
    }

    /** One failure after another, each repaired before the next begins. */
    private void loseNothing(int replicas, int failures, List<Failure> kinds) throws Exception {
        PagedRam ram = attach(SPACE, replicas);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, THREADS, random.nextLong())) {
            tally.watch(load);
            load.awaitEachThread(PAGES);
            for (int i = 0; i < failures; i++) {
                Fault fault = draw(kinds, failing.homes());
                load.takeLongestNanos();
                System.out.println("failure " + i + ": " + fault);
                failing.begin(fault.kind(), fault.node());
                fault.last();
                if (replicas > 1 && fault.repairsFirst()) {
                    awaitAway(fault.node());
                }
                failing.end(fault.kind(), fault.node());
                failing.awaitWhole();
                failing.awaitRepaired(SPACE, replicas);
                load.awaitEachThread(20 + random.nextInt(PAGES / 4));
                load.awaitCompared(compared);
                tally.add(fault.kind(), fault.millis(), load.takeLongestNanos());
                assertEquals(List.of(), load.faults());
            }
            load.awaitEachThread(PAGES);
            load.stop();
            assertEquals(List.of(), load.faults());
            ram.close();
            compareWithHomes(SPACE, load);
        }
    }

    private Set<Failure> kinds() {
        Set<Failure> kinds = failing.possible();
        String chosen = System.getProperty("farpage.kinds", "");
        if (!chosen.isEmpty()) {
            kinds.retainAll(Stream.of(chosen.split(",")).map(Failure::valueOf).toList());
        }
        return kinds;
    }

    private Fault draw(List<Failure> kinds, List<String> free) {
        Failure kind = kinds.get(random.nextInt(kinds.size()));
        String node = kind.isOfAHome() ? free.get(random.nextInt(free.size())) : FailingCluster.AGENT;
        int millis = 1 + random.nextInt(longestMillis[random.nextInt(longestMillis.length)]);
        return new Fault(kind, node, millis, random.nextInt(3) == 0);
    }

    /**
     * A failure.
     *
     * @param millis how long it lasts
     * @param spare whether a home comes back only after another one has taken its place
     */
    private record Fault(Failure kind, String node, int millis, boolean spare) {
        void last() {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }

        boolean repairsFirst() {
            return (spare && kind == Failure.KILL_HOME) || (kind == Failure.DRAIN_HOME && millis > 30);
        }

        @Override
        public String toString() {
            return kind + " " + node + " for " + millis + " ms" + (spare ? ", until it is replaced" : "");
        }
    }

    private void awaitAway(String home) {
        await(home + " is replaced", Deadlines.LONG.multipliedBy(2))
                .pollInterval(Duration.ofMillis(20))
                .ignoreExceptions()
                .until(() -> extents(SPACE).stream()
                        .allMatch(extent -> extent.homes().size() == 2
                                && extent.homes().stream()
                                        .noneMatch(one -> one.node().equals(home))));
    }

    /** Some failures at once, under a guest of its own, which may end meanwhile. */
    private void overlap(String space, int count) throws Exception {
        int replicas = isSmall ? 2 : 2 + random.nextInt(2);
        PagedRam ram = attach(space, replicas);
        try (CheckedPages load = CheckedPages.start(ram, PAGES, THREADS, random.nextLong())) {
            tally.watch(load);
            load.awaitEachThread(PAGES);
            load.takeLongestNanos();
            List<Step> steps = steps(count);
            int endsAt = random.nextInt(3) == 0 ? random.nextInt(steps.size()) : steps.size();
            System.out.println(
                    "round " + space + ": " + replicas + " homes" + (endsAt < steps.size() ? ", the guest ends" : ""));
            perform(steps.subList(0, endsAt));
            if (endsAt < steps.size()) {
                // Threads that wait for a page do so until what has failed is back.
                load.cease();
                perform(steps.subList(endsAt, steps.size()));
                load.stop();
                ram.close();
                failing.awaitWhole();
            } else {
                failing.awaitWhole();
                load.awaitEachThread(PAGES / 4);
                failing.awaitRepaired(space, replicas);
                load.awaitEachThread(PAGES / 4);
                load.awaitCompared(count * (long) compared);
                load.stop();
                checkAnnounced(space, load);
                ram.close();
            }
            long longest = load.takeLongestNanos();
            steps.stream()
                    .filter(step -> !step.begins())
                    .forEach(step -> tally.add(step.fault().kind(), step.fault().millis(), longest));
            assertEquals(List.of(), load.wrong());
            var status = guests().awaitEnded(space);
            if (load.lost().isEmpty() && extents(space).stream().allMatch(one -> one.state() == ExtentState.OK)) {
                assertEquals(0, status.get("lostPages").asInt(), status::toString);
                compareWithHomes(space, load);
            }
        }
        guests().drop(space);
        failing.awaitWhole();
    }

    private List<Step> steps(int count) {
        List<Failure> kinds = List.copyOf(kinds());
        List<String> free = new ArrayList<>(failing.homes());
        Set<Failure> single = EnumSet.noneOf(Failure.class);
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Fault fault = draw(kinds, free);
            boolean isPossible = switch (fault.kind()) {
                // Without a coordinator no drain can begin.
                case KILL_COORDINATOR -> !single.contains(Failure.DRAIN_HOME) && single.add(fault.kind());
                case DRAIN_HOME ->
                    !single.contains(Failure.KILL_COORDINATOR) && single.add(fault.kind()) && free.remove(fault.node());
                default -> fault.kind().isOfAHome() ? free.remove(fault.node()) : single.add(fault.kind());
            };
            if (isPossible) {
                long begin = random.nextLong(1_500);
                steps.add(new Step(begin, fault, true));
                steps.add(new Step(begin + fault.millis(), fault, false));
            }
        }
        steps.sort(Comparator.comparingLong(Step::atMillis));
        return steps;
    }

    private record Step(long atMillis, Fault fault, boolean begins) {}

    private void perform(List<Step> steps) throws Exception {
        long begun = System.nanoTime();
        for (Step step : steps) {
            long wait = step.atMillis() - (System.nanoTime() - begun) / 1_000_000;
            Thread.sleep(Math.max(0, wait));
            System.out.printf("%d ms: %s %s%n", step.atMillis(), step.begins() ? "begin" : "end", step.fault());
            if (step.begins()) {
                failing.begin(step.fault().kind(), step.fault().node());
            } else {
                failing.end(step.fault().kind(), step.fault().node());
            }
        }
    }

    /**
     * Each page that the guest cannot have is named in the log of its agent, and its extent is lost in the
     * coordinator's eyes.
     */
    private void checkAnnounced(String space, CheckedPages load) throws CoordinatorException {
        if (load.lost().isEmpty()) {
            return;
        }
        List<Extent> lost = extents(space).stream()
                .filter(extent -> extent.state() == ExtentState.LOST)
                .toList();
        String said = cluster().process(FailingCluster.AGENT).process().err();
        for (int page : load.lost()) {
            assertTrue(
                    lost.stream().anyMatch(extent -> extent.contains(page)),
                    () -> "page " + page + " is lost, and its extent is not: " + lost);
            // The second of two pagers counts from the first page of its own half.
            assertTrue(
                    said.contains("space " + space + ": page " + page + LOST)
                            || said.contains("space " + space + ", counted from page 0: page " + page + LOST)
                            || said.contains("space " + space + ", counted from page " + HALF + ": page "
                                    + (page - HALF) + LOST),
                    () -> "the loss of page " + page + " was not announced");
        }
    }

    private void compareWithHomes(String space, CheckedPages load) throws CoordinatorException {
        guests().awaitEnded(space);
        assertTrue(cluster().client().space(space).orElseThrow().torn().isEmpty());
        for (int page = 0; page < PAGES; page += 5) {
            // The page tool asks the homes in turn.
            for (int copy = 0; copy < 3; copy++) {
                assertArrayEquals(
                        load.content(page),
                        cluster()
                                .agent(FailingCluster.AGENT)
                                .page(space, page)
                                .expect(200)
                                .body(),
                        "page " + page);
            }
        }
    }
}
