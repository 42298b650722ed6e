package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Load;
import io.farpage.it.harness.Pages;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An agent that dies or stands still while pages are fetched from it. */
@Tag("portable")
@Tag("processes")
class FaultsTest {
    private static final Duration DEADLINE = Deadlines.of(Duration.ofSeconds(1));
    /** What a quiet machine may add to a deadline: nothing here measures speed. */
    private static final Duration SLACK = Duration.ofSeconds(2);

    private static final Map<String, String> SETTINGS = Map.of("fetch.deadline", DEADLINE.toMillis() + "ms");
    private static final int PAGES = 64;
    private static final int READERS = 8;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @BeforeAll
    static void start() {
        cluster = Cluster.ofProcesses(SETTINGS, "a", "b");
    }

    @AfterAll
    static void end() {
        cluster.close();
    }

    @BeforeEach
    void linksAreUp() {
        cluster.processes().stream()
                .filter(agent -> !agent.process().isAlive())
                .toList()
                .forEach(dead -> cluster.startAgent(dead.node(), SETTINGS));
        cluster.awaitAllLinks();
    }

    @Test
    void shouldAnswerInTimeWhenHomeIsKilledAndRecoverWhenItReturns() throws Exception {
        AgentProcess a = cluster.process("a");
        fill("killed", 1);
        String before = cluster.incarnation("b");
        try (Load load = Load.start(a, "killed", PAGES, 4096, 1, READERS)) {
            awaitReads(load, 500);
            cluster.process("b").process().kill();
            await("refusals", Deadlines.LONG).until(() -> load.refusals().size() >= 2 * READERS);
            assertAllInTime(load, List.of(504));

            cluster.startAgent("b", SETTINGS);
            cluster.awaitActive("b", before);
            await("pages known to be lost", Deadlines.LONG)
                    .until(() -> a.page("killed", 0).status() == 410);
            load.end();
            assertAllInTime(load, List.of(504, 410));
        }
        for (long page = 0; page < PAGES; page++) {
            Answer answer = a.page("killed", page).expect(410);
            assertTrue(answer.problem().is("page-lost"), answer.toString());
            assertEquals(410, a.putPage("killed", page, new byte[4096]).status());
        }
        assertEquals(410, cluster.agent("b").page("killed", 0).status());

        cluster.awaitAllLinks();
        fill("reborn", 2);
        try (Load load = Load.start(a, "reborn", PAGES, 4096, 2, READERS)) {
            awaitReads(load, 500);
            load.end();
            assertEquals(List.of(), load.refusals());
            assertEquals(List.of(), load.faults());
        }
        cluster.client().deleteSpace("killed");
        cluster.client().deleteSpace("reborn");
    }

    @Test
    @Tag("soak")
    void shouldAnswerInTimeWhileHomeIsStoppedAndRecoverAfterwards() throws Exception {
        AgentProcess a = cluster.process("a");
        fill("stopped", 3);
        try (Load load = Load.start(a, "stopped", PAGES, 4096, 3, READERS)) {
            awaitReads(load, 500);
            cluster.process("b").process().stop();
            try {
                await("refusals", Deadlines.LONG).until(() -> load.refusals().size() >= 3 * READERS);
                assertAllInTime(load, List.of(504));
            } finally {
                cluster.process("b").process().resume();
            }
            awaitReads(load, 500);
            load.end();
            assertAllInTime(load, List.of(504));
        }
        checkAll(a, "stopped", 3);
        checkAll(cluster.agent("b"), "stopped", 3);
        cluster.client().deleteSpace("stopped");
    }

    @Test
    void shouldNotLoseAFetchWhenTheFetchingAgentIsStoppedForAMoment() throws Exception {
        AgentProcess a = cluster.process("a");
        fill("paused", 4);
        try (Load load = Load.start(a, "paused", PAGES, 4096, 4, READERS)) {
            awaitReads(load, 200);
            a.process().stop();
            // Nothing to wait for but time: the process must stand still for less than the deadline.
            await("time passes", Deadlines.SHORT)
                    .pollDelay(DEADLINE.dividedBy(3))
                    .until(() -> true);
            a.process().resume();
            awaitReads(load, 500);
            load.end();
            assertEquals(List.of(), load.refusals());
            assertEquals(List.of(), load.faults());
        }
        cluster.client().deleteSpace("paused");
    }

    @Test
    @Tag("soak")
    void shouldSayThatPagesAreLostWhenHomeHasLeft() throws Exception {
        fill("left", 5);
        cluster.process("b").process().terminate();
        assertEquals(0, cluster.process("b").process().awaitEnd());
        assertTrue(cluster.client().node("b").isEmpty());
        await("pages known to be lost", Deadlines.LONG)
                .until(() -> cluster.agent("a").page("left", 0).status() == 410);
        cluster.startAgent("b", SETTINGS);
        cluster.awaitAllLinks();
        assertEquals(410, cluster.agent("a").page("left", 0).status());
        cluster.client().deleteSpace("left");
    }

    private static void fill(String space, long seed) throws Exception {
        cluster.makeSpace(space, PAGES, 4096, "b");
        LongStream.range(0, PAGES)
                .parallel()
                .forEach(page -> cluster.agent("a")
                        .putPage(space, page, Pages.of(seed, page, 4096))
                        .expect(204));
    }

    private static void checkAll(Agent reader, String space, long seed) {
        for (long page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    Pages.of(seed, page, 4096),
                    reader.page(space, page).expect(200).body());
        }
    }

    private static void awaitReads(Load load, int more) {
        long enough = load.read() + more;
        await(more + " more reads", Deadlines.LONG).until(() -> load.read() >= enough);
    }

    private static void assertAllInTime(Load load, List<Integer> statuses) {
        assertEquals(List.of(), load.faults());
        Duration latest = DEADLINE.plus(Deadlines.of(SLACK));
        for (Load.Refusal refusal : load.refusals()) {
            assertTrue(statuses.contains(refusal.status()), refusal.toString());
            assertTrue(refusal.took().compareTo(latest) < 0, refusal.toString());
        }
    }
}
