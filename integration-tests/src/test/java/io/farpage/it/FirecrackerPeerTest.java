package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.it.harness.BorrowedHugepages;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A program in C that resumes a snapshot as Firecracker's sources do; see {@code src/test/c/firecracker_peer.c}.
 * {@link FirecrackerTest} has Firecracker itself.
 */
@NeedsUserfaultfd
@Tag("processes")
class FirecrackerPeerTest {
    private static final int PAGE = 4096;
    private static final int HUGE = 2 << 20;

    /** Pages of 4096 bytes, in three regions: below and above the hole for devices, and one of virtio-mem. */
    private static final int[] REGIONS = {1500, 700, 348};

    /** On each host. */
    private static final int MACHINES = 3;

    @TempDir
    private static Path built = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Path program;

    @SuppressWarnings("NullAway.Init")
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void start() {
        program = SharedRam.compileFirecrackerPeer(built);
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
        cluster.openAgent("b", Map.of("pool.exported", "256MiB", "pool.staging", "8MiB"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterAll
    static void stopNodes() {
        Optional.ofNullable(cluster).ifPresent(Cluster::close);
    }

    @ParameterizedTest
    @ValueSource(strings = {"4k", "thp"})
    void shouldResumeASnapshotInSeveralRegionsWithABalloon(String kind) throws Exception {
        JsonNode result = resume(kind, PAGE, REGIONS);
        assertEquals(REGIONS.length, result.get("regions").asInt());
        assertTrue(result.get("removed").asInt() > 900, result.toString());
        JsonNode status = guests.awaitEnded(kind);
        assertTrue(status.get("removedPages").asInt() > 0, status.toString());
        guests.drop(kind);
    }

    /** Its memory file comes beside the userfaultfd, so that its pages can be evicted. */
    @Test
    void shouldEvictPagesOfAForkThatSendsItsMemfd() throws Exception {
        JsonNode result = resume("fork", PAGE, REGIONS);
        assertTrue(result.get("removed").asInt() > 900, result.toString());
        JsonNode status = guests.awaitEnded("fork");
        assertTrue(status.get("evictable").asBoolean(), status.toString());
        assertTrue(status.get("evictions").asInt() > 500, status.toString());
        assertTrue(status.get("peakResidentPages").asInt() <= 2548 / 4, status.toString());
        assertTrue(status.get("removedPages").asInt() > 0, status.toString());
        guests.drop("fork");
    }

    /** All of its memory is write-protected before the handoff. */
    @Test
    @Tag("soak")
    void shouldEvictHugepagesOfAForkThatSendsItsMemfd() throws Exception {
        try (BorrowedHugepages _ = BorrowedHugepages.take(80)) {
            resume("fork-2m", HUGE, new int[] {50 * 512, 30 * 512});
            JsonNode status = guests.awaitEnded("fork-2m");
            assertTrue(status.get("evictable").asBoolean(), status.toString());
            assertTrue(status.get("evictions").asInt() > 16, status.toString());
            guests.drop("fork-2m");
        }
    }

    /** The kernel does not report stores to clean pages then. They do not matter in memory that is never evicted. */
    @Test
    void shouldResumeAForkWhoseStoresAreNotReported() throws Exception {
        resume("private-async", PAGE, REGIONS);
        assertFalse(guests.awaitEnded("private-async").get("evictable").asBoolean());
        guests.drop("private-async");
    }

    @Test
    void shouldResumeASnapshotOnHugepages() throws Exception {
        try (BorrowedHugepages _ = BorrowedHugepages.take(8)) {
            resume("2m", HUGE, new int[] {4 * 512, 2 * 512});
            guests.awaitEnded("2m");
            guests.drop("2m");
        }
    }

    /**
     * As with {@code huge_pages} of PUT /snapshot/load. Each guest finds the snapshot again, on the node of its home
     * and on another, since nothing of the guest before was written home.
     */
    @ParameterizedTest
    @CsvSource({"2m, 4096, true", "2m, 4096, false", "4k, 2097152, true", "thp, 2097152, false"})
    void shouldResumeOnPagesOfAnotherSize(String kind, int ofSpace, boolean isClone) throws Exception {
        int[] regions = {4 * 512, 2 * 512};
        int pages = Arrays.stream(regions).sum();
        String name = "other-%s-%s".formatted(kind, isClone);
        try (BorrowedHugepages _ = BorrowedHugepages.take(8)) {
            load(name, pages, ofSpace);
            String space = name;
            if (isClone) {
                cluster.client().makeSnapshot(name);
                space = name + "-clone";
                cluster.client().makeClone(name, new CloneRequest(space));
            }
            for (Guests host : List.of(guests, new Guests(cluster, "b", "b"), guests)) {
                Path socket = directory.resolve(name + ".sock");
                long bytes = (long) pages * PAGE;
                host.attach(space, socket, bytes, 64L * HUGE, ofSpace);
                JsonNode result = new JsonMapper().readTree(run(words(kind, socket, regions)));
                assertEquals(0, result.get("differences").asInt(), result.toString());
                JsonNode status = host.awaitEnded(space);
                assertEquals(
                        bytes,
                        status.get("pages").asLong() * status.get("pageSize").asLong(),
                        status.toString());
                assertNotEquals(ofSpace, status.get("pageSize").asInt());
                int fetched = status.get("fetchedFaults").asInt()
                        + status.get("prefetchedPages").asInt();
                assertTrue(fetched > 0, status.toString());
                assertTrue(status.get("zeroFaults").asInt() > 0, "pages of zeros are not fetched: " + status);
                host.forget(space);
            }
            guests.drop(space);
            guests.drop(name);
        }
    }

    @Test
    void shouldResumeManyMachinesFromOneSnapshotOnTwoHosts() throws Exception {
        int pages = Arrays.stream(REGIONS).sum();
        load("golden", pages, PAGE);
        cluster.client().makeSnapshot("golden");
        Map<String, Guests> hosts = Map.of("a", guests, "b", new Guests(cluster, "b", "b"));
        Map<String, ChildJvm> machines = new TreeMap<>();
        try {
            for (int i = 0; i < MACHINES; i++) {
                for (Map.Entry<String, Guests> host : hosts.entrySet()) {
                    String name = "clone-%s-%d".formatted(host.getKey(), i);
                    cluster.client().makeClone("golden", new CloneRequest(name));
                    Path socket = directory.resolve(name);
                    host.getValue().attach(name, socket, (long) pages * PAGE, (long) pages * PAGE);
                    machines.put(
                            name,
                            ChildJvm.launch("firecracker-peer", words("4k", socket, REGIONS), Map.of(), directory));
                }
            }
            for (Map.Entry<String, ChildJvm> each : machines.entrySet()) {
                ChildJvm machine = each.getValue();
                assertEquals(0, machine.awaitEnd(), () -> each.getKey() + ": " + machine.out() + machine.err());
                JsonNode result = new JsonMapper().readTree(machine.out());
                assertEquals(pages, result.get("pages").asInt());
                assertEquals(0, result.get("differences").asInt(), result.toString());
            }
        } finally {
            machines.values().forEach(ChildJvm::close);
            hosts.forEach((host, of) -> machines.keySet().stream()
                    .filter(name -> name.contains("-" + host + "-"))
                    .forEach(of::drop));
        }
    }

    private List<String> words(String kind, Path socket, int... regions) {
        List<String> words = new ArrayList<>(List.of(program.toString(), "resume", socket.toString(), kind));
        Arrays.stream(regions).mapToObj(Integer::toString).forEach(words::add);
        return words;
    }

    private void load(String space, int pages, int pageSize) throws Exception {
        Path memory = directory.resolve("memory");
        peer("snapshot", memory.toString(), Integer.toString(pages));
        cluster.makeSpace(space, pages / (pageSize / PAGE), pageSize, "b");
        try (ChildJvm load = ChildJvm.start(
                "load",
                Main.class,
                List.of(
                        "load",
                        "--agent=" + cluster.agent("a").rest().base(),
                        "--space=" + space,
                        "--file=" + memory))) {
            assertEquals(0, load.awaitEnd(), load::err);
        }
    }

    private JsonNode resume(String kind, int pageSize, int... regions) throws Exception {
        int pages = Arrays.stream(regions).sum();
        load(kind, pages, pageSize);
        Path socket = directory.resolve(kind + ".sock");
        long least = 64L * pageSize / PAGE;
        long local = Math.max(kind.startsWith("fork") ? pages / 4 : pages, least);
        guests.attach(kind, socket, (long) pages * PAGE, local * PAGE);
        JsonNode result = new JsonMapper().readTree(run(words(kind, socket, regions)));
        assertEquals(pages, result.get("pages").asInt());
        assertEquals(0, result.get("differences").asInt(), result.toString());
        JsonNode status = guests.status(kind);
        assertTrue(status.get("fetchedFaults").asInt() > 0, "its memory came from the home: " + status);
        assertEquals(0, status.get("lostPages").asInt(), status.toString());
        return result;
    }

    private String peer(String... words) {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(List.of(words));
        return run(command);
    }

    private String run(List<String> command) {
        try (ChildJvm peer = ChildJvm.launch("firecracker-peer", command, Map.of(), directory)) {
            assertEquals(0, peer.awaitEnd(), () -> peer.out() + peer.err());
            return peer.out();
        }
    }
}
