package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AcknowledgedChanges;
import io.farpage.it.harness.AnswerHistory;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.LeaderWatch;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.SharedCluster;
import io.farpage.it.harness.Soak;
import io.farpage.it.harness.Trouble;
import io.farpage.it.harness.Visitor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three coordinators on three members of etcd, agents with a guest that pages, and clients that change things, while
 * coordinators and members are killed, stopped and cut off in an order that a seed decides. {@code -Dfarpage.seed=N}
 * repeats it, {@code -Dfarpage.kinds=KILL_LEADER} draws from these alone.
 */
@NeedsUserfaultfd
@Tag("soak")
class FailingCoordinatorsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final int LIMIT = 128;
    private static final String SPACE = "guest";
    private static final List<String> HOMES = List.of("b", "c");
    private static final int KILLS_AND_STOPS = 100;
    private static final int PARTITIONS = 20;

    @TempDir
    private Path directory = Path.of("");

    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final SplittableRandom random = new SplittableRandom(seed);
    private final Map<Trouble, List<Long>> leaderless = new TreeMap<>();
    private final Map<Trouble, List<Long>> unchanged = new TreeMap<>();
    private final AnswerHistory history = new AnswerHistory();

    @Test
    @Timeout(7200)
    void shouldLoseNoAcknowledgedChangeWhenCoordinatorsAndEtcdFail() throws Exception {
        SharedCluster.missing().ifPresent(reason -> assumeTrue(false, reason));
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        try (SharedCluster cluster = new SharedCluster(directory, "a", "b", "c")) {
            try (PagedRam ram = attach(cluster);
                    CheckedPages load = CheckedPages.start(ram, PAGES, random.nextLong());
                    LeaderWatch watch = new LeaderWatch(cluster.urls(), history);
                    Visitor visitor = new Visitor("visitor", cluster.urls(), history);
                    AcknowledgedChanges one = changes("x", cluster);
                    AcknowledgedChanges two = changes("y", cluster)) {
                load.awaitEachThread(PAGES);
                Run run = new Run(cluster, load, watch, visitor, List.of(one, two));
                List<Trouble> troubles = troubles();
                for (int i = 0; i < troubles.size(); i++) {
                    fail(run, i, troubles.get(i));
                }
                report(run);
            } catch (Exception | Error e) {
                System.err.println(cluster.describe());
                throw e;
            }
        }
    }

    /** What runs while parts fail. */
    private record Run(
            SharedCluster cluster,
            CheckedPages load,
            LeaderWatch watch,
            Visitor visitor,
            List<AcknowledgedChanges> clients) {

        long acknowledged() {
            return clients.stream().mapToLong(AcknowledgedChanges::count).sum();
        }
    }

    private AcknowledgedChanges changes(String name, SharedCluster cluster) {
        return new AcknowledgedChanges(name, cluster.urls(), HOMES, history, random.nextLong());
    }

    private PagedRam attach(SharedCluster cluster) {
        Path socket = directory.resolve("vmm");
        cluster.agent("a")
                .rest()
                .sendJson("PUT", "/api/v1/spaces/" + SPACE + "/guest", """
                        {"socket": "%s", "sizeBytes": %d, "pageSize": %d, "homes": ["b"], \
                        "localBytes": %d}""".formatted(
                                socket, (long) PAGES * PAGE, PAGE, (long) LIMIT * PAGE))
                .expect(200);
        PagedRam ram = PagedRam.handOver(socket, PAGES);
        await("the guest is attached", Deadlines.LONG)
                .until(() -> cluster.agent("a")
                        .rest()
                        .get("/api/v1/spaces/" + SPACE)
                        .expect(200)
                        .json()
                        .get("state")
                        .asString()
                        .equals("attached"));
        return ram;
    }

    /** Each kind as often as any other of its group, in any order. */
    private List<Trouble> troubles() {
        String chosen = System.getProperty("farpage.kinds", "");
        List<Trouble> kinds = Arrays.stream(Trouble.values())
                .filter(kind -> chosen.isEmpty() || List.of(chosen.split(",")).contains(kind.name()))
                .toList();
        List<Trouble> drawn = new ArrayList<>();
        drawn.addAll(some(kinds.stream().filter(kind -> !kind.isPartition()).toList(), Soak.part(KILLS_AND_STOPS)));
        drawn.addAll(some(kinds.stream().filter(Trouble::isPartition).toList(), Soak.part(PARTITIONS)));
        Collections.shuffle(drawn, new Random(random.nextLong()));
        return drawn;
    }

    private List<Trouble> some(List<Trouble> kinds, int count) {
        List<Trouble> drawn = new ArrayList<>();
        while (!kinds.isEmpty() && drawn.size() < count) {
            List<Trouble> round = new ArrayList<>(kinds);
            Collections.shuffle(round, new Random(random.nextLong()));
            drawn.addAll(round.subList(0, Math.min(round.size(), count - drawn.size())));
        }
        return drawn;
    }

    private void fail(Run run, int number, Trouble trouble) throws Exception {
        // From below the lease of the leader, 3 s, to beyond it, and below the lease of nodes, 15 s.
        int millis = 1_000 + random.nextInt(5_500);
        long acknowledged = run.acknowledged();
        run.watch().takeLongest();
        run.clients().forEach(AcknowledgedChanges::takeLongest);
        run.load().takeLongestNanos();
        run.cluster().begin(trouble, random.nextInt(2));
        Thread.sleep(millis);
        run.cluster().end();
        run.cluster().awaitWhole();
        awaitChanges(run, 4);
        long without = run.watch().takeLongest().toMillis();
        long waited = run.clients().stream()
                .mapToLong(client -> client.takeLongest().toMillis())
                .max()
                .orElse(0);
        System.out.printf(
                "%d: %s for %d ms: no leader answers for %d ms, changes wait for up to %d ms, %d changes acknowledged,"
                        + " longest access of the guest %.1f ms%n",
                number,
                trouble,
                millis,
                without,
                waited,
                run.acknowledged() - acknowledged,
                run.load().takeLongestNanos() / 1e6);
        if (!trouble.hidesTheLeader()) {
            leaderless.computeIfAbsent(trouble, _ -> new ArrayList<>()).add(without);
        }
        unchanged.computeIfAbsent(trouble, _ -> new ArrayList<>()).add(waited);
        check(run);
    }

    private static void awaitChanges(Run run, int more) {
        for (AcknowledgedChanges client : run.clients()) {
            long before = client.count();
            await("changes are acknowledged again", Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> client.count() >= before + more);
        }
    }

    private void check(Run run) throws Exception {
        for (AcknowledgedChanges client : run.clients()) {
            assertEquals(List.of(), client.check(run.cluster().client()));
        }
        assertEquals(Optional.empty(), run.visitor().check(run.cluster().client()));
        assertEquals(List.of(), history.contradictions());
        assertEquals(List.of(), run.cluster().expiries());
        run.load().awaitEachThread(20);
        assertEquals(List.of(), run.load().faults());
        assertTrue(
                run.cluster().client().node("visitor").isPresent(),
                "the node of this test is known as long as it lives");
    }

    private void report(Run run) {
        unchanged.forEach((trouble, waited) -> System.out.printf(
                "%-24s %3d times: no leader %s; changes waited %s%n",
                trouble,
                waited.size(),
                Optional.ofNullable(leaderless.get(trouble))
                        .map(FailingCoordinatorsTest::percentiles)
                        .orElse("not measured: it is hidden"),
                percentiles(waited)));
        List<Long> all = leaderless.values().stream().flatMap(List::stream).toList();
        System.out.printf(
                "seed %d: %d failures, %d changes acknowledged and none lost, %d without an answer, %d answers of %d"
                        + " terms without a contradiction, %d pages compared, no lease expired%n",
                seed,
                unchanged.values().stream().mapToInt(List::size).sum(),
                run.acknowledged() + run.visitor().count(),
                run.clients().stream()
                        .mapToLong(AcknowledgedChanges::unanswered)
                        .sum(),
                history.answers(),
                history.terms(),
                run.load().compared());
        System.out.println("without a leader: " + percentiles(all));
    }

    private static String percentiles(List<Long> millis) {
        List<Long> sorted = millis.stream().sorted().toList();
        return sorted.isEmpty()
                ? "none"
                : "p50 %d ms, p99 %d ms, max %d ms"
                        .formatted(
                                sorted.get((sorted.size() - 1) / 2),
                                sorted.get(Math.max(0, Math.ceilDiv(sorted.size() * 99, 100) - 1)),
                                sorted.getLast());
    }
}
