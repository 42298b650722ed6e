package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.Main;
import io.farpage.guest.vmm.GuestMemory.Backing;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.BorrowedHugepages;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.SharedRam;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Guests whose memory has pages of 2 MiB. There are fewer hugepages than the guests have pages, so eviction must free
 * them in truth.
 */
@NeedsUserfaultfd
class HugepageGuestTest {
    private static final int PAGE = 2 << 20;
    private static final int PAGES = 96;
    private static final int LOCAL_PAGES = 64;
    /** Those that may be resident, and one or two on their way in or out. */
    private static final int HUGEPAGES = LOCAL_PAGES + 4;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void startNodes() {
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
        // Room for two spaces: one is deleted some time after its last use.
        cluster.openAgent("b", Map.of("pool.exported", "512MiB", "pool.staging", "2MiB"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterAll
    static void stopNodes() {
        cluster.close();
    }

    @Test
    @Tag("processes")
    void shouldKeepAVirtualMachinesPagesRight() {
        checkMachine("hugetlb", "sequential", 2);
    }

    @Test
    @Tag("soak")
    void shouldKeepAVirtualMachinesAnonymousPagesRight() {
        checkMachine("hugetlb-anonymous", "random", 2);
    }

    private void checkMachine(String backing, String pattern, int vcpus) {
        Path kvm = Path.of("/dev/kvm");
        assumeTrue(Files.isReadable(kvm) && Files.isWritable(kvm), "/dev/kvm cannot be opened by this user");
        boolean evicts = backing.equals("hugetlb");
        try (BorrowedHugepages _ = BorrowedHugepages.take(evicts ? HUGEPAGES : PAGES)) {
            attach("machine");
            try (ChildJvm guest = ChildJvm.start(
                    "guest-vm",
                    Main.class,
                    List.of(
                            "guest-vm",
                            "--socket=" + socket(),
                            "--memory=" + (long) PAGES * PAGE,
                            "--backing=" + backing,
                            "--pattern=" + pattern,
                            "--stride=4099",
                            "--vcpus=" + vcpus))) {
                JsonNode status = end(guest, "machine");
                JsonNode result = new JsonMapper().readTree(guest.out());
                assertEquals(5 * PAGES * 512, result.get("pagesTouched").asInt());
                assertEquals(0, result.get("mismatches").asInt(), guest.out());
                assertEquals(evicts, status.get("evictable").asBoolean());
                if (evicts) {
                    assertTrue(status.get("evictions").asInt() >= PAGES - LOCAL_PAGES, status.toString());
                    assertTrue(status.get("peakResidentPages").asInt() <= LOCAL_PAGES, status.toString());
                } else {
                    assertEquals(PAGES, status.get("peakResidentPages").asInt(), status.toString());
                }
            }
        } finally {
            guests.drop("machine");
        }
    }

    /** Reads, writes, zeros and pages given up, at random, while the limit changes. */
    @Test
    @Tag("soak")
    void shouldFindNoDifferenceUnderResizes() {
        SplittableRandom random = new SplittableRandom(1);
        try (BorrowedHugepages _ = BorrowedHugepages.take(PAGES)) {
            attach("stress");
            try (ChildJvm stress = ChildJvm.start(
                    "stress",
                    Main.class,
                    List.of(
                            "stress",
                            "--socket=" + socket(),
                            "--memory=" + (long) PAGES * PAGE,
                            "--backing=hugetlb",
                            "--operations=6000",
                            "--seed=1"))) {
                guests.awaitAttached("stress");
                while (stress.isAlive()) {
                    guests.resize("stress", random.nextLong(LOCAL_PAGES, PAGES) * PAGE);
                }
                JsonNode status = end(stress, "stress");
                assertEquals(
                        0,
                        new JsonMapper()
                                .readTree(stress.out())
                                .get("mismatches")
                                .asInt(),
                        stress.out());
                assertTrue(status.get("evictions").asInt() > 300, status.toString());
                assertTrue(status.get("removedPages").asInt() > 100, status.toString());
            }
        } finally {
            guests.drop("stress");
        }
    }

    @Test
    void shouldLeaveTheMemoryAtItsHomeAndBringItBackToTheNextGuest() {
        try (BorrowedHugepages _ = BorrowedHugepages.take(HUGEPAGES)) {
            attach("saved");
            try (PagedRam ram = PagedRam.handOver(socket(), Backing.HUGETLB, PAGES, 1)) {
                for (int page = 0; page < PAGES; page++) {
                    assertArrayEquals(new byte[PAGE], ram.read(page), "page " + page);
                    ram.write(page, page % 3 == 0 ? new byte[PAGE] : Pages.of(1, page, PAGE));
                }
            }
            guests.awaitEnded("saved");
            guests.forget("saved");
            attach("saved");
            try (PagedRam ram = PagedRam.handOver(socket(), Backing.HUGETLB, PAGES, 1)) {
                for (int page = 0; page < PAGES; page++) {
                    assertArrayEquals(written(page), ram.read(page), "page " + page);
                }
            }
            JsonNode status = guests.awaitEnded("saved");
            assertTrue(status.get("prefetchedPages").asInt() > 0, status.toString());
            guests.forget("saved");
            for (int page = 0; page < PAGES; page += 7) {
                assertArrayEquals(
                        written(page),
                        cluster.agent("b").page("saved", page).expect(200).body(),
                        "page " + page);
            }
        } finally {
            guests.drop("saved");
        }
    }

    /** The kernel says of a hugepage that it does not have what it says of a page that is there already. */
    @Test
    void shouldEvictRatherThanShowZerosWhenHugepagesRunOut() {
        attach("short");
        try {
            try (BorrowedHugepages _ = BorrowedHugepages.take(HUGEPAGES);
                    PagedRam ram = PagedRam.handOver(socket(), Backing.HUGETLB, PAGES, 1)) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(1, page, PAGE));
                }
            }
            guests.awaitEnded("short");
            attach("short");
            try (BorrowedHugepages _ = BorrowedHugepages.take(LOCAL_PAGES / 2);
                    PagedRam ram = PagedRam.handOver(socket(), Backing.HUGETLB, PAGES, 1)) {
                for (int round = 1; round <= 2; round++) {
                    for (int page = 0; page < PAGES; page++) {
                        assertArrayEquals(Pages.of(round, page, PAGE), ram.read(page), "page " + page);
                        ram.write(page, Pages.of(round + 1, page, PAGE));
                    }
                }
            }
            int peak = guests.awaitEnded("short").get("peakResidentPages").asInt();
            assumeTrue(peak <= LOCAL_PAGES / 2, "another process has given back hugepages meanwhile");
        } finally {
            guests.drop("short");
        }
    }

    /**
     * Pages that have arrived and cannot be installed must not keep the staging memory that eviction needs to make room
     * for them.
     */
    @Test
    @Tag("soak")
    void shouldEvictWhenHugepagesAndStagingFramesRunOut() {
        // Staging memory for two pages.
        cluster.openAgent("c", Map.of("pool.staging", "4MiB"));
        cluster.awaitAllLinks();
        Guests small = new Guests(cluster, "c", "b");
        small.attach("staged", socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE, PAGE);
        try {
            try (BorrowedHugepages _ = BorrowedHugepages.take(8);
                    PagedRam ram = PagedRam.handOver(socket(), Backing.HUGETLB, PAGES, 1)) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(1, page, PAGE));
                }
                IntStream.range(0, 8).parallel().forEach(thread -> {
                    for (int page = thread; page < PAGES; page += 8) {
                        ram.touch(page);
                    }
                });
                for (int page = 0; page < PAGES; page++) {
                    assertArrayEquals(Pages.of(1, page, PAGE), ram.read(page), "page " + page);
                }
            }
            small.awaitEnded("staged");
        } finally {
            small.drop("staged");
        }
    }

    private static byte[] written(int page) {
        return page % 3 == 0 ? new byte[PAGE] : Pages.of(1, page, PAGE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"balloon", "remove"})
    void shouldServeAnUnmodifiedProcessThroughThePreloadedLibrary(String way) {
        SharedRam program = SharedRam.compile(directory);
        try (BorrowedHugepages _ = BorrowedHugepages.take(HUGEPAGES)) {
            attach("preloaded");
            List<String> command = program.preloadedHuge(
                    SharedRam.QEMUS_NAME, PAGES, "zeros", "rounds", way, "zeros", "rounds", "unmap");
            try (ChildJvm process =
                    ChildJvm.launch("shared-ram", command, Map.of("FARPAGE_SOCKET", socket().toString()), directory)) {
                JsonNode status = end(process, "preloaded");
                assertTrue(status.get("peakResidentPages").asInt() <= LOCAL_PAGES, status.toString());
                assertTrue(status.get("evictions").asInt() > 0, status.toString());
                assertTrue(status.get("removedPages").asInt() >= PAGES, status.toString());
            }
        } finally {
            guests.drop("preloaded");
        }
    }

    @Test
    void shouldRefuseAGuestWhosePagesTheStagingMemoryCannotHold() {
        String body = "{\"socket\": \"%s\", \"sizeBytes\": %d, \"pageSize\": %d, \"homes\": [\"b\"]}"
                .formatted(socket(), 2 * PAGE, PAGE);
        Answer answer = new Guests(cluster, "b", "b").tryAttach("large", body).expect(400);
        assertTrue(answer.text().contains("pool.staging has 2097152 bytes"), answer.toString());
        guests.drop("large");
    }

    private JsonNode end(ChildJvm process, String space) {
        // An emulated virtual machine on a busy host takes longer than other processes.
        await("the end of " + process.name(), Deadlines.LONG.multipliedBy(3)).until(() -> !process.isAlive());
        assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
        return guests.awaitEnded(space);
    }

    private void attach(String space) {
        guests.attach(space, socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE, PAGE);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
