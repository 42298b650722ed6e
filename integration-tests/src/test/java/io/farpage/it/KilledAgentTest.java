package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents that are killed while they take pages out: no page is lost with one. */
@NeedsUserfaultfd
@Tag("soak")
class KilledAgentTest {
    private static final List<String> NODES = List.of("a", "c", "d", "e");
    private static final String HOME = "b";
    private static final int PAGE = 4096;
    private static final int PAGES = 384;
    private static final int LOCAL_PAGES = 64;
    private static final int THREADS = 2;
    private static final Map<String, String> SETTINGS = Map.of("fetch.deadline", "1s");

    private static final Cluster cluster = Cluster.start();

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void startNodes() {
        cluster.openAgent(HOME, SETTINGS);
        NODES.forEach(node -> cluster.launchAgent(node, SETTINGS));
    }

    @AfterAll
    static void stopNodes() {
        cluster.close();
    }

    /** A guest on a node, whose agent is about to be killed. */
    private record Victim(String node, String space, String incarnation, ShadowedRam ram) {}

    /** Every page is in the memory file in its newest version, or is not there and its home has the newest version. */
    @Test
    void shouldLeaveEveryPageInFileOrAtHomeWhenTheAgentIsKilled() throws Exception {
        killAgents(1);
    }

    @Test
    void shouldLeaveEveryPageInFileOrAtHomeWhenAgentsAreKilledOften() throws Exception {
        killAgents(Soak.part(5));
    }

    private void killAgents(int rounds) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        int kills = 0;
        int atHome = 0;
        for (int round = 0; round < rounds; round++) {
            List<Victim> victims = new ArrayList<>();
            try {
                for (String node : NODES) {
                    victims.add(begin(node, round, random.nextLong()));
                }
                for (Victim victim : victims) {
                    awaitEvictions(victim);
                    Thread.sleep(random.nextInt(60));
                    cluster.process(victim.node()).process().kill();
                    kills++;
                }
                victims.forEach(victim -> cluster.launchAgent(victim.node(), SETTINGS));
                for (Victim victim : victims) {
                    atHome += check(victim);
                }
            } finally {
                victims.forEach(KilledAgentTest::end);
            }
        }
        assertEquals(rounds * NODES.size(), kills);
        assertTrue(atHome > kills * PAGES / 8, "only " + atHome + " pages were at their home");
    }

    private Victim begin(String node, int round, long seed) throws Exception {
        String space = "killed-" + round + "-" + node;
        Path socket = directory.resolve(space);
        await(node + " linked", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> cluster.agent(node).isLinkedTo(HOME));
        Guests guests = new Guests(cluster, node, HOME);
        guests.attach(space, socket, (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        String incarnation = cluster.incarnation(node);
        return new Victim(node, space, incarnation, ShadowedRam.start(socket, PAGES, THREADS, seed));
    }

    private static void awaitEvictions(Victim victim) {
        Guests guests = new Guests(cluster, victim.node(), HOME);
        await("evictions", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(10))
                .until(() -> guests.status(victim.space()).get("evictions").asInt() > 2 * PAGES);
        assertEquals(List.of(), victim.ram().mismatches());
    }

    /** Checks every page, and returns how many with something in them were at their home alone. */
    private static int check(Victim victim) {
        ShadowedRam ram = victim.ram();
        ram.stop();
        cluster.awaitActive(victim.node(), victim.incarnation());
        byte[] home = homes(victim.space());
        List<String> wrong = new ArrayList<>(ram.mismatches());
        int atHome = 0;
        for (int page = 0; page < PAGES; page++) {
            Optional<byte[]> here = ram.inFile(page);
            if (here.isPresent()) {
                ram.versions().check(page, here.get()).ifPresent(what -> wrong.add("in the file: " + what));
            } else if (!ram.versions().isRemoved(page)) {
                byte[] there = Arrays.copyOfRange(home, page * PAGE, (page + 1) * PAGE);
                ram.versions().check(page, there).ifPresent(what -> wrong.add("at home: " + what));
                atHome += ram.versions().isSomething(page) ? 1 : 0;
            }
        }
        assertEquals(List.of(), wrong, victim.space());
        return atHome;
    }

    /** The memory of a space as its home has it, once the coordinator knows that the agent which used it has ended. */
    private static byte[] homes(String space) {
        Answer answer = await("the end of the dead agent's use of " + space, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(
                        () -> cluster.agent(HOME).rest().get("/api/v1/spaces/" + space + "/memory?force=true"),
                        found -> found.status() == 200);
        assertEquals(PAGES * PAGE, answer.body().length);
        return answer.body();
    }

    private static void end(Victim victim) {
        victim.ram().close();
        cluster.coordinator()
                .rest()
                .send("DELETE", "/api/v1/spaces/" + victim.space() + "?force=true", "", new byte[0]);
    }
}
