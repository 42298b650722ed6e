package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.Pages;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A home whose agent is killed and started again, with a keeper: its pages stay. */
@Tag("portable")
@Tag("processes")
class RestartedHomeTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 256;
    private static final Map<String, String> PATIENT = Map.of("fetch.deadline", "60s");

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;
    private KeeperProcess keeper;

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        keeper = KeeperProcess.start("b", directory.resolve("b.keeper"));
        cluster.openAgent("a", PATIENT);
        cluster.launchAgent("b", home());
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        cluster.close();
        keeper.close();
    }

    private Map<String, String> home() {
        Map<String, String> settings = new HashMap<>(PATIENT);
        settings.putAll(keeper.settings());
        return settings;
    }

    private Agent a() {
        return cluster.agent("a");
    }

    private void fill(String space, long seed) throws Exception {
        cluster.makeSpace(space, PAGES, PAGE, "b");
        for (int page = 0; page < PAGES; page++) {
            a().putPage(space, page, Pages.of(seed, page, PAGE)).expect(204);
        }
    }

    private void check(String space, long seed) {
        for (int page = 0; page < PAGES; page++) {
            Pages.check(a().page(space, page).expect(200).body(), seed, page, PAGE);
        }
    }

    private List<ExtentState> states(String space) throws Exception {
        return cluster.client().extents(space).orElseThrow().extents().stream()
                .map(Extent::state)
                .toList();
    }

    /** Kills the home and starts it again. */
    private void restart() throws Exception {
        String before = cluster.incarnation("b");
        cluster.process("b").process().kill();
        cluster.launchAgent("b", home()).awaitListening();
        cluster.awaitActive("b", before);
    }

    @Test
    void shouldHaveEveryPageAfterTheHomeIsKilledAndStartedAgain() throws Exception {
        fill("kept", 7);
        String before = cluster.incarnation("b");
        for (int round = 0; round < 2; round++) {
            cluster.process("b").process().kill();
            long killed = System.nanoTime();
            cluster.launchAgent("b", home());
            Pages.check(a().page("kept", 3).expect(200).body(), 7, 3, PAGE);
            System.out.printf(
                    "pause of a page whose home was killed and started again at once: %d ms (TCP, 4096, depth 1, one"
                            + " host)%n",
                    Duration.ofNanos(System.nanoTime() - killed).toMillis());
            var _ = cluster.agent("b").rest();
            check("kept", 7);
        }
        assertNotEquals(before, cluster.incarnation("b"));
        assertEquals(List.of(ExtentState.OK), states("kept"));
        cluster.client().deleteSpace("kept");
        fill("next", 8);
        check("next", 8);
    }

    /** Pages keep what was acknowledged before the kill, and writes that were under way are carried out. */
    @Test
    @Tag("soak")
    @Tag("long")
    void shouldLoseNoAcknowledgedWriteWhenHomeIsKilledDuringWrites() throws Exception {
        fill("busy", 1);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLongArray acknowledged = new AtomicLongArray(PAGES);
        for (int page = 0; page < PAGES; page++) {
            acknowledged.set(page, 1);
        }
        List<String> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        List<Thread> writers = new ArrayList<>();
        for (int writer = 0; writer < 4; writer++) {
            int first = writer;
            writers.add(Thread.ofVirtual().start(() -> {
                for (long version = 2; !stop.get(); version++) {
                    for (int page = first; page < PAGES && !stop.get(); page += 4) {
                        Answer answer = a().putPage("busy", page, Pages.of(version, page, PAGE));
                        if (answer.status() == 204) {
                            acknowledged.set(page, version);
                        } else {
                            failures.add(answer.toString());
                        }
                    }
                }
            }));
        }
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        for (int kill = 0; kill < 3; kill++) {
            long target = acknowledged.get(0) + 1;
            await("writes", Deadlines.LONG)
                    .pollInterval(Duration.ofMillis(1 + random.nextInt(20)))
                    .until(() -> acknowledged.get(0) >= target);
            restart();
        }
        stop.set(true);
        for (Thread writer : writers) {
            writer.join();
        }
        assertEquals(List.of(), failures);
        for (int page = 0; page < PAGES; page++) {
            Pages.check(a().page("busy", page).expect(200).body(), acknowledged.get(page), page, PAGE);
        }
        System.out.println("writes acknowledged: "
                + java.util.stream.IntStream.range(0, PAGES)
                        .mapToLong(acknowledged::get)
                        .sum());
    }

    @Test
    @Tag("soak")
    void shouldRefuseASecondAgentOfTheNodeAndLeaveTheFirstAlone() throws Exception {
        fill("twice", 3);
        Path port = directory.resolve("second.port");
        List<String> arguments = new ArrayList<>(List.of(
                "run",
                "--port-file",
                port.toString(),
                "--set",
                "node.id=b",
                "--set",
                "api.listen=127.0.0.1:0",
                "--set",
                "coordinator.url=" + cluster.coordinator().rest().base()));
        home().forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        try (ChildJvm second = ChildJvm.start("second", Main.class, arguments)) {
            assertEquals(1, second.awaitEnd());
            assertTrue(
                    second.err()
                            .contains("has the memory of process "
                                    + cluster.process("b").process().pid() + ", which runs"),
                    second.err());
        }
        check("twice", 3);
        restart();
        check("twice", 3);
    }

    /** A process that is stopped may go on later: only its end frees the pool. */
    @Test
    @Tag("soak")
    void shouldNotHandOverThePoolWhileItsProcessIsStopped() throws Exception {
        fill("stopped", 4);
        AgentProcess before = cluster.process("b");
        before.process().stop();
        try {
            ChildJvm second = cluster.launchAgent("b", home()).process();
            assertEquals(1, second.awaitEnd());
        } finally {
            before.process().resume();
        }
        before.process().kill();
        cluster.launchAgent("b", home()).awaitListening();
        check("stopped", 4);
    }

    @Test
    @Tag("soak")
    void shouldSayThatPagesAreLostWhenTheKeeperEndedBeforeTheAgent() throws Exception {
        fill("gone", 5);
        keeper.process().kill();
        await("the agent notices", Deadlines.LONG)
                .until(() -> cluster.process("b").process().err().contains("the keeper at"));
        check("gone", 5);
        cluster.process("b").process().kill();
        keeper.restart();
        String before = cluster.incarnation("b");
        cluster.launchAgent("b", home()).awaitListening();
        cluster.awaitActive("b", before);
        assertEquals(List.of(ExtentState.LOST), states("gone"));
        assertEquals(410, a().page("gone", 0).status());
    }

    @Test
    @Tag("soak")
    void shouldGiveThePoolToTheNextKeeperWhenOneHasEnded() throws Exception {
        fill("moved", 6);
        keeper.process().kill();
        keeper.restart();
        await("kept again", Deadlines.LONG)
                .until(() -> cluster.process("b").process().err().contains("kept at"));
        restart();
        check("moved", 6);
    }

    @Test
    @Tag("soak")
    void shouldNotBeTakenInByGarbageOnTheKeepersSocket() throws Exception {
        fill("safe", 9);
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 40; i++) {
            byte[] garbage = new byte[1 + random.nextInt(64)];
            random.nextBytes(garbage);
            if (random.nextBoolean()) {
                byte[] magic = "FPKEEPER".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
                System.arraycopy(magic, 0, garbage, 0, Math.min(magic.length, garbage.length));
            }
            assertEquals(-1, answerTo(garbage));
        }
        restart();
        check("safe", 9);
    }

    private int answerTo(byte[] garbage) throws IOException {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(keeper.socket()));
            channel.write(ByteBuffer.wrap(garbage));
            return channel.read(ByteBuffer.allocate(1));
        } catch (SocketException e) {
            // The keeper has closed the connection before it had read everything.
            assertEquals("Connection reset", e.getMessage());
            return -1;
        }
    }

    @Test
    @Tag("soak")
    @Tag("long")
    void shouldRefuseAPoolThatIsNotTheConfiguredOneUntilItIsDropped() throws Exception {
        fill("sized", 10);
        cluster.process("b").process().kill();
        Map<String, String> other = new HashMap<>(home());
        other.put("pool.exported", "16MiB");
        ChildJvm refused = cluster.launchAgent("b", other).process();
        assertEquals(1, refused.awaitEnd());
        assertTrue(refused.err().contains("set both as they were; or, to give up its pages"), refused.err());

        cluster.launchAgent("b", home()).awaitListening();
        check("sized", 10);
        cluster.process("b").process().kill();
        try (ChildJvm drop = ChildJvm.start(
                "drop",
                Main.class,
                List.of("keeper-drop", "--set", "keeper.socket=" + keeper.socket(), "--set", "node.id=b"))) {
            assertEquals(0, drop.awaitEnd());
            assertEquals("dropped", drop.out().strip());
        }
        String before = cluster.incarnation("b");
        cluster.launchAgent("b", other).awaitListening();
        cluster.awaitActive("b", before);
        assertEquals(List.of(ExtentState.LOST), states("sized"));
    }

    @Test
    @Tag("soak")
    void shouldStartWithAnEmptyPoolAfterTheNodeLeftTheCluster() throws Exception {
        fill("removed", 11);
        cluster.process("b").process().kill();
        String before = cluster.incarnation("b");
        cluster.coordinator()
                .rest()
                .send("DELETE", "/api/v1/nodes/b?force=true&incarnation=" + before, "", new byte[0])
                .expect(204);
        AgentProcess again = cluster.launchAgent("b", home());
        cluster.awaitActive("b", before);
        again.awaitListening();
        assertEquals(List.of(ExtentState.LOST), states("removed"));
        cluster.awaitAllLinks();
        cluster.makeSpace("fresh", PAGES, PAGE, "b");
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    new byte[PAGE], a().page("fresh", page).expect(200).body());
        }
    }

    /** An agent that ends in order leaves the cluster, and its pool with it. */
    @Test
    @Tag("soak")
    void shouldGiveThePoolUpWhenTheAgentEndsInOrder() throws Exception {
        fill("left", 12);
        cluster.process("b").process().terminate();
        assertEquals(0, cluster.process("b").process().awaitEnd());
        assertTrue(
                keeper.process().err().contains("has given its memory up"),
                keeper.process().err());
        cluster.launchAgent("b", home()).awaitListening();
        cluster.awaitAllLinks();
        assertEquals(List.of(ExtentState.LOST), states("left"));
        fill("again", 13);
        check("again", 13);
    }
}
