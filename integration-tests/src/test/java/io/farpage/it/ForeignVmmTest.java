package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.awaitility.core.TerminalFailureException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A VMM that is not ours, in C, with an eighth of its memory here: loads, stores and holes at random and a shadow copy,
 * while the coordinator is killed and started again with its store, and the home's agent is stopped and goes on.
 */
@Tag("soak")
class ForeignVmmTest {
    private static final int PAGES = 16_384;
    private static final int EIGHTH = 8;

    @TempDir
    private Path directory = Path.of("");

    /** For ten minutes. */
    @Test
    @Timeout(value = 1, unit = java.util.concurrent.TimeUnit.HOURS)
    void shouldFindNoDifferenceForLongWhenCoordinatorAndHomeFail() throws Exception {
        run(Soak.part(600), Long.getLong("farpage.seed", System.nanoTime()));
    }

    private void run(int seconds, long seed) throws Exception {
        Path program = SharedRam.compileForeign(directory);
        SplittableRandom random = new SplittableRandom(seed);
        try (Cluster cluster = Cluster.startProcess()) {
            cluster.openAgent("a", Map.of("fetch.deadline", "1s"));
            cluster.launchAgent("b", Map.of("fetch.deadline", "1s", "pool.exported", "128MiB"))
                    .awaitListening();
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            Path socket = directory.resolve("socket");
            guests.attach("foreign", socket, PAGES * 4096L, PAGES / EIGHTH * 4096L);
            List<String> command = List.of(
                    program.toString(),
                    socket.toString(),
                    Integer.toString(PAGES),
                    Integer.toString(seconds),
                    Long.toString(seed));
            try (ChildJvm vmm = ChildJvm.launch("foreign-vmm", command, Map.of(), directory)) {
                guests.awaitAttached("foreign");
                int troubles = trouble(
                        cluster,
                        vmm,
                        random,
                        System.nanoTime() + Duration.ofSeconds(seconds).toNanos());
                try {
                    await("the VMM's last look at its pages", Duration.ofMinutes(2))
                            .until(() -> !vmm.isAlive());
                } catch (TerminalFailureException e) {
                    throw new AssertionError(
                            "seed %d: %s\n%s\n%s\n%s"
                                    .formatted(
                                            seed,
                                            e.getMessage(),
                                            guests.status("foreign"),
                                            vmm.threads(),
                                            cluster.describe()),
                            e);
                }
                assertEquals(0, vmm.awaitEnd(), () -> "seed " + seed + "\n" + vmm.out() + vmm.err());
                JsonNode result = new JsonMapper().readTree(vmm.out());
                assertEquals(0, result.get("differences").asInt(), () -> "seed " + seed + "\n" + vmm.err());
                JsonNode status = guests.awaitEnded("foreign");
                System.out.println(seconds + " s, seed " + seed + ", " + troubles + " kills and stops: "
                        + vmm.out().strip() + ", " + status.get("evictions") + " evictions, "
                        + status.get("fetchedFaults") + " fetches");
                assertTrue(status.get("peakResidentPages").asInt() <= PAGES / EIGHTH, status.toString());
                assertTrue(status.get("evictions").asInt() > PAGES, status.toString());
                assertTrue(troubles > 0, "nothing went wrong");
            }
        }
    }

    /** Returns how often something was killed or stopped. */
    private static int trouble(Cluster cluster, ChildJvm vmm, SplittableRandom random, long end) throws Exception {
        int troubles = 0;
        while (vmm.isAlive() && System.nanoTime() - end < 0) {
            Thread.sleep(random.nextInt(500, 2_000));
            if (random.nextBoolean()) {
                cluster.coordinatorProcess().process().kill();
                Thread.sleep(random.nextInt(0, 1_500));
                cluster.coordinatorProcess().restart();
            } else {
                cluster.process("b").process().stop();
                Thread.sleep(random.nextInt(100, 2_500));
                cluster.process("b").process().resume();
            }
            troubles++;
        }
        return troubles;
    }
}
