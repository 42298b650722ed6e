package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Net;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Links that break and are made again, by both sides at once. */
@Tag("soak")
class LinkChurnTest {
    private static final Map<String, String> SETTINGS = Map.of("fetch.deadline", "5s");

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeAll
    static void start() {
        Optional<String> cannot = Net.cannotBreak();
        assumeTrue(cannot.isEmpty(), cannot.orElse(""));
        cluster = Cluster.ofProcesses(SETTINGS, "a", "b");
    }

    @AfterAll
    static void end() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void shouldEndInOneLinkWhenBothSidesStartItAtOnceAndLeakNothing() throws Exception {
        churn(25);
    }

    @Test
    void shouldEndInOneLinkAndLeakNothingWhenBothSidesStartAtOnce() throws Exception {
        churn(120);
    }

    private static void churn(int rounds) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        makeSpaces("churn");
        rounds(random, 20); // so that what is made once for all links is there
        Use before = Use.of(cluster);
        rounds(random, rounds);
        await("descriptors and threads as before", Deadlines.LONG).untilAsserted(() -> {
            Use after = Use.of(cluster);
            assertTrue(after.isNoMoreThan(before), "before " + before + ", after " + after);
        });
        deleteSpaces("churn");
    }

    private static void rounds(SplittableRandom random, int rounds) throws Exception {
        CyclicBarrier together = new CyclicBarrier(2);
        try (ExecutorService both = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int round = 0; round < rounds; round++) {
                int how = random.nextInt(3);
                if (how != 0) {
                    Net.breakConnectionsTo(port("a"));
                }
                if (how != 1) {
                    Net.breakConnectionsTo(port("b"));
                }
                Future<?> one = both.submit(() -> startLink(together, "a", "b"));
                Future<?> other = both.submit(() -> startLink(together, "b", "a"));
                Deadlines.get("the link from a", Deadlines.LONG, one);
                Deadlines.get("the link from b", Deadlines.LONG, other);
                int page = round % 16;
                cluster.agent("a")
                        .putPage("churn-b", page, Pages.of(round, page, 4096))
                        .expect(204);
                cluster.agent("b")
                        .putPage("churn-a", page, Pages.of(round, page, 4096))
                        .expect(204);
                Pages.check(cluster.agent("a").page("churn-b", page).expect(200).body(), round, page, 4096);
                Pages.check(cluster.agent("b").page("churn-a", page).expect(200).body(), round, page, 4096);
            }
        }
        cluster.awaitAllLinks();
        await("one connection in each direction", Deadlines.LONG).untilAsserted(() -> {
            assertEquals(1, Net.connectionsTo(port("a")), "to a");
            assertEquals(1, Net.connectionsTo(port("b")), "to b");
        });
    }

    private static Object startLink(CyclicBarrier together, String from, String to) throws Exception {
        together.await(Deadlines.of(Deadlines.LONG).toMillis(), TimeUnit.MILLISECONDS);
        return cluster.agent(from)
                .rest()
                .sendJson("POST", "/api/v1/links/" + to, "")
                .expect(202);
    }

    /** Where a node's memory is reached over TCP. */
    private static int port(String node) {
        try {
            return cluster.client()
                    .call(NodeOperations.ENDPOINTS.at(node))
                    .getFirst()
                    .entries()
                    .getFirst()
                    .port()
                    .orElseThrow();
        } catch (io.farpage.coordinator.client.CoordinatorException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void shouldYieldNoOldVersionOfAPageWhileLinksBreak() throws Exception {
        writeAndRead(Duration.ofSeconds(2));
    }

    @Test
    void shouldReadTheLatestVersionOfAPageWhileLinksBreak() throws Exception {
        writeAndRead(Duration.ofSeconds(8));
    }

    private static void writeAndRead(Duration time) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        makeSpaces("versions");
        try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Long>> all = LongStream.range(0, 4)
                    .mapToObj(worker -> workers.submit(() -> writeAndRead(seed, worker, time)))
                    .toList();
            SplittableRandom random = new SplittableRandom(seed);
            while (all.stream().anyMatch(worker -> !worker.isDone())) {
                Net.breakConnectionsTo(port(random.nextBoolean() ? "a" : "b"));
                long pause = random.nextLong(20, 200);
                await("time passes", Deadlines.SHORT)
                        .pollDelay(Duration.ofMillis(pause))
                        .until(() -> true);
            }
            for (Future<Long> worker : all) {
                assertTrue(worker.get() > 0, "every worker wrote");
            }
        }
        deleteSpaces("versions");
    }

    /** Owns some pages; after each write that was said to be done, both nodes must see it, whatever came before. */
    private static Long writeAndRead(long seed, long worker, Duration time) {
        SplittableRandom random = new SplittableRandom(seed + 1 + worker);
        long end = System.nanoTime() + time.toNanos();
        long written = 0;
        for (long version = 1; System.nanoTime() - end < 0; version++) {
            String space = random.nextBoolean() ? "versions-a" : "versions-b";
            long page = worker * 4 + random.nextInt(4);
            AgentProcess writer = cluster.process(random.nextBoolean() ? "a" : "b");
            if (writer.putPage(space, page, Pages.of(version, page, 4096)).status() != 204) {
                continue;
            }
            written++;
            for (Agent reader : cluster.agents()) {
                var answer = reader.page(space, page);
                if (answer.status() == 200) {
                    Pages.check(answer.body(), version, page, 4096);
                }
            }
        }
        return written;
    }

    private static void makeSpaces(String name) throws Exception {
        cluster.makeSpace(name + "-a", 16, 4096, "a");
        cluster.makeSpace(name + "-b", 16, 4096, "b");
    }

    private static void deleteSpaces(String name) throws Exception {
        for (String space : List.of(name + "-a", name + "-b")) {
            cluster.client().deleteSpace(space);
            // The name is free once the nodes have detached and the homes have revoked their access.
            await(space + " is deleted", Deadlines.SHORT)
                    .until(() -> cluster.client().space(space).isEmpty());
        }
    }

    /** File descriptors and threads of both agents. A JVM may have a few more or less for reasons of its own. */
    private record Use(int descriptorsA, int descriptorsB, int threadsA, int threadsB) {
        private static final int SOME = 6;

        static Use of(Cluster cluster) {
            long a = cluster.process("a").process().pid();
            long b = cluster.process("b").process().pid();
            return new Use(ProcFs.descriptors(a), ProcFs.descriptors(b), ProcFs.threads(a), ProcFs.threads(b));
        }

        boolean isNoMoreThan(Use other) {
            return descriptorsA <= other.descriptorsA + SOME
                    && descriptorsB <= other.descriptorsB + SOME
                    && threadsA <= other.threadsA + SOME
                    && threadsB <= other.threadsB + SOME;
        }
    }
}
