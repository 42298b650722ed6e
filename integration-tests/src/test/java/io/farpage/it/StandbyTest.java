package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.keeper.Standby;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Pause;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A warm standby takes the agent's place, when it is killed and when it hands over, and its guest never sees a wrong
 * page.
 */
@NeedsUserfaultfd
@Tag("processes")
class StandbyTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 384;
    private static final int LOCAL_PAGES = 64;
    private static final Path PROGRAM = Path.of(System.getProperty("farpage.root", ".."), "bin", "page-agent")
            .toAbsolutePath();

    @TempDir
    private Path directory = Path.of("");

    private Cluster cluster;
    private KeeperProcess keeper;
    private Map<String, String> settings = Map.of();
    private ChildJvm active;

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        keeper = KeeperProcess.start("a", directory.resolve("a.keeper"));
        settings = new HashMap<>(keeper.settings());
        settings.put("keeper.standby", "true");
        settings.put("fetch.deadline", "60s");
        settings.put("api.socket", directory.resolve("a.sock").toString());
        active = cluster.launchAgent("a", settings).process();
        cluster.openAgent("b", Map.of());
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() throws IOException {
        // A successor that an upgrade has started is not a child of this process.
        ProcessHandle.of(Standby.look(keeper.socket()).agent()).ifPresent(ProcessHandle::destroyForcibly);
        cluster.close();
        keeper.close();
    }

    private ShadowedRam guest(int threads, long seed) {
        Path socket = directory.resolve("guest");
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("vm", socket, (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        ShadowedRam ram = ShadowedRam.start(socket, PAGES, threads, seed);
        ram.forgetUserfaultfd();
        guests.awaitAttached("vm");
        return ram;
    }

    private AgentProcess standby() {
        AgentProcess standby = cluster.launchAgent("a", settings);
        awaitLog(standby.process(), "warm: this process takes over");
        assertTrue(
                standby.process().err().contains("rehearsed the start of an agent"),
                standby.process().err());
        assertFalse(
                standby.process().err().contains("this rehearsal has no guest"),
                standby.process().err());
        return standby;
    }

    private static void awaitLog(ChildJvm process, String text) {
        await(text, Deadlines.LONG.multipliedBy(3))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> process.err().contains(text) || !process.isAlive());
        assertTrue(process.err().contains(text), process.err());
    }

    /** The log of a process from its takeover on: its time stamps tell where the pause went. */
    private static void printTakeover(String successor) {
        successor
                .lines()
                .dropWhile(line -> !line.contains("the agent has ended"))
                .forEach(System.out::println);
    }

    private static void awaitOperations(ShadowedRam ram, long more) {
        long target = ram.operations() + more;
        await(more + " operations", Deadlines.LONG.multipliedBy(2))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> ram.operations() > target);
    }

    @Test
    void shouldTakeOverFromAnAgentThatIsKilledAndNotBefore() throws Exception {
        try (ShadowedRam ram = guest(2, 3)) {
            String before = cluster.incarnation("a");
            AgentProcess standby = standby();
            awaitLog(active, "is the warm standby of this agent");
            awaitOperations(ram, 500);
            assertEquals(before, cluster.incarnation("a"));
            assertFalse(
                    standby.process().err().contains("adopted"),
                    standby.process().err());
            Pause pause = Pause.begin(ram);
            active.kill();
            awaitLog(standby.process(), "adopted, ");
            System.out.println("killed, with a warm standby: " + pause.await());
            standby.awaitListening();
            printTakeover(standby.process().err());
            assertNotEquals(before, cluster.incarnation("a"));
            awaitOperations(ram, 500);
            ram.stop();
            assertEquals(List.of(), ram.mismatches());
        }
    }

    /** One of several standbys becomes the agent, and each process that was killed is started again as a standby. */
    @Test
    @Tag("soak")
    @Timeout(900)
    void shouldHaveOneOfTwoStandbysTakeOverEachTime() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        List<Pause> pauses = new ArrayList<>();
        try (ShadowedRam ram = guest(3, seed)) {
            List<ChildJvm> standbys = new ArrayList<>(List.of(standby().process()));
            for (int kill = 0; kill < Soak.part(12); kill++) {
                standbys.add(standby().process());
                awaitOperations(ram, 300 + random.nextInt(300));
                Pause pause = Pause.begin(ram);
                active.kill();
                await("a standby adopts the guest", Deadlines.LONG.multipliedBy(3))
                        .until(() -> standbys.stream().anyMatch(one -> one.err().contains("adopted, ")));
                System.out.println(pause.await());
                pauses.add(pause);
                List<ChildJvm> took = standbys.stream()
                        .filter(one -> one.err().contains("this process takes over"))
                        .filter(one -> one.err().contains("the agent has ended"))
                        .toList();
                assertEquals(
                        1,
                        took.size(),
                        () -> "agents: " + took.stream().map(ChildJvm::name).toList());
                active = took.getFirst();
                standbys.remove(active);
                assertEquals(List.of(), ram.mismatches());
            }
            ram.stop();
            assertEquals(List.of(), ram.mismatches());
            System.out.println("pauses: " + Pause.summary(pauses));
        }
    }

    @Test
    void shouldKeepTheGuestWhenUpgradedAndNotHandOverWithoutStandby() throws Exception {
        try (ShadowedRam ram = guest(2, 5)) {
            awaitOperations(ram, 300);
            refuseToHandOverWithoutAStandby();
            ChildJvm late = upgrade("--deadline", "1ms");
            assertEquals(1, late.awaitEnd(), late.err());
            assertTrue(late.err().contains("was not warm within"), late.err());
            assertTrue(late.err().contains("nothing has changed"), late.err());
            assertTrue(active.isAlive());
            awaitOperations(ram, 300);

            Path successor = directory.resolve("successor.log");
            // On a loaded machine the start of a successor takes longer than the minute that an operator waits.
            ChildJvm upgrade = upgrade("--log", successor.toString(), "--deadline", "180s");
            // Until then the start of a JVM takes the CPUs away from the guest, as any program does.
            awaitOut(upgrade, "hands over");
            Pause pause = Pause.begin(ram);
            awaitOut(upgrade, "is the agent of 'a'");
            assertEquals(0, upgrade.awaitEnd(), upgrade.err());
            assertEquals(0, active.awaitEnd());
            System.out.println("handed over: " + pause.await());
            printTakeover(Files.readString(successor));
            awaitOperations(ram, 500);
            ram.stop();
            assertEquals(List.of(), ram.mismatches());
        }
    }

    private static void awaitOut(ChildJvm process, String text) {
        await(text, Deadlines.LONG.multipliedBy(3))
                .pollInterval(Duration.ofMillis(2))
                .until(() -> process.out().contains(text) || !process.isAlive());
    }

    private ChildJvm upgrade(String... options) {
        List<String> command = new ArrayList<>(List.of(PROGRAM.toString(), "upgrade"));
        command.addAll(List.of(options));
        Map<String, String> all = new HashMap<>(settings);
        all.putAll(Map.of(
                "node.id", "a",
                "coordinator.url", cluster.coordinator().rest().base().toString(),
                "pool.exported", "8MiB",
                "pool.staging", "4MiB",
                "pool.hugepages", "off",
                "shard.idle", "block",
                "shard.realtime_priority", "0"));
        all.forEach((key, value) -> command.addAll(List.of("--set", key + "=" + value)));
        return ChildJvm.launch("upgrade", command, Map.of(), directory);
    }

    private void refuseToHandOverWithoutAStandby() {
        var answer = cluster.agent("a").rest().send("POST", "/api/v1/handover", "application/json", new byte[0]);
        assertEquals(409, answer.status(), answer::toString);
        assertTrue(answer.text().contains("no standby of this agent is warm"), answer.text());
        assertTrue(active.isAlive());
    }

    /** A guest that would not survive keeps the agent from handing over. */
    @Test
    @Tag("soak")
    void shouldRefuseToHandOverWhileAGuestWouldBeLost() throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        guests.attach("idle", directory.resolve("idle"), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        AgentProcess holder = cluster.process("a");
        AgentProcess standby = standby();
        var answer = holder.rest().send("POST", "/api/v1/handover", "application/json", new byte[0]);
        assertEquals(409, answer.status(), answer::toString);
        assertTrue(answer.text().contains("the guest of space 'idle' waits for its VMM"), answer.text());
        holder.rest().send("DELETE", "/api/v1/spaces/idle/guest", "application/json", new byte[0]);
        answer = holder.rest().send("POST", "/api/v1/handover", "application/json", new byte[0]);
        assertEquals(202, answer.status(), answer::toString);
        assertEquals(0, active.awaitEnd());
        standby.awaitListening();
    }

    /** Another pool than the agent's would be refused once the agent has ended, when it is too late. */
    @Test
    @Tag("soak")
    void shouldNotBecomeTheStandbyOfAnAgentWithAnotherPool() {
        Map<String, String> other = new HashMap<>(settings);
        other.put("pool.exported", "16MiB");
        ChildJvm refused = cluster.launchAgent("a", other).process();
        await("its end", Deadlines.LONG.multipliedBy(2)).until(() -> !refused.isAlive());
        assertEquals(1, refused.awaitEnd());
        assertTrue(refused.err().contains("set both as the agent has them"), refused.err());
        assertTrue(active.isAlive());
    }
}
