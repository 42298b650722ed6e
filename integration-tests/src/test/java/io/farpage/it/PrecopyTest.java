package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The RAM of a KVM guest that stores at random is copied in rounds of KVM's dirty log, as precopy migration does, while
 * an eighth of it is resident. The copy must be the RAM, word by word, and the RAM what the stores made it.
 */
@NeedsUserfaultfd
class PrecopyTest {
    private static final int DATA_PAGES = 2048;
    private static final int PAGES = DATA_PAGES + 512;
    private static final int LOCAL_PAGES = DATA_PAGES / 8;
    private static final int NO_KVM = 77;

    @TempDir
    private static Path built = Path.of("");

    private static Optional<SharedRam> program = Optional.empty();
    private static Optional<Cluster> cluster = Optional.empty();

    @BeforeAll
    static void startNodes() {
        program = Optional.of(SharedRam.compilePrecopy(built));
        Cluster nodes = Cluster.start();
        cluster = Optional.of(nodes);
        nodes.openAgent("a", Map.of("pool.exported", "8MiB"));
        nodes.openAgent("b", Map.of("pool.exported", "32MiB"));
        nodes.awaitAllLinks();
    }

    @AfterAll
    static void stopNodes() {
        cluster.ifPresent(Cluster::close);
    }

    @Test
    void shouldCopyThePagedRamOfAGuestThatStoresMeanwhile() {
        migrate(20_000, 20261126);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 30, unit = TimeUnit.MINUTES)
    void shouldCopyThePagedRamOfManyGuestsThatStoreMeanwhile() {
        for (int guest = 1; guest <= Soak.part(60); guest++) {
            migrate(100_000, guest);
        }
    }

    private static void migrate(int stores, long seed) {
        Guests guests = new Guests(cluster.orElseThrow(), "a", "b");
        String space = "precopy-" + seed;
        Path socket = built.resolve("socket-" + seed);
        guests.attach(space, socket, PAGES * 4096L, LOCAL_PAGES * 4096L);
        List<String> command = program.orElseThrow().preloaded(List.of("" + DATA_PAGES, "" + stores, "" + seed));
        Map<String, String> environment = Map.of("FARPAGE_SOCKET", socket.toString());
        try (ChildJvm vmm = ChildJvm.launch("precopy-ram", command, environment, built)) {
            int code = vmm.awaitEnd();
            assumeTrue(code != NO_KVM, vmm.err());
            assertEquals(0, code, () -> "seed " + seed + ": " + vmm.out() + vmm.err());
            JsonNode result = new JsonMapper().readTree(vmm.out());
            assertTrue(result.get("rounds").asInt() > 2, result::toString);
            JsonNode status = guests.awaitEnded(space);
            System.out.println("seed " + seed + ": " + result + ", " + status.get("evictions") + " evictions");
            assertTrue(status.get("evictions").asLong() > PAGES, status::toString);
        } finally {
            guests.drop(space);
        }
    }
}
