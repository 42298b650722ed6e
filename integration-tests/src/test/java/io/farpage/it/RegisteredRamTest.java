package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.BorrowedHugepages;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/**
 * VMMs that register their RAM themselves, and so can ask for more than the preloaded library does: to fork, and for
 * minor faults.
 */
@NeedsUserfaultfd
class RegisteredRamTest {
    private static final int LOCAL_PAGES = 64;

    @TempDir
    private static Path built = Path.of("");

    private static Optional<Path> program = Optional.empty();

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @TempDir
    private Path directory = Path.of("");

    private String space = "";

    @BeforeAll
    static void start() {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root may have a userfaultfd report forks");
        program = Optional.of(SharedRam.compileRegistered(built));
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
        // Room for two spaces: one is deleted some time after its last use.
        cluster.openAgent("b", Map.of("pool.exported", "512MiB", "pool.staging", "32MiB"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterAll
    static void stopNodes() {
        Optional.ofNullable(cluster).ifPresent(Cluster::close);
    }

    /** What is a child's own memory, as a page table of its own has it, however its parent goes on. */
    @ParameterizedTest
    @CsvSource({"anonymous, 1024, 4096, 0, b", "anonymous, 1024, 4096, 0, a", "hugetlb-anonymous, 16, 2097152, 200, b"})
    void shouldGiveChildrenTheMemoryOfTheFork(String backing, int pages, int pageSize, int hugepages, String home)
            throws Exception {
        JsonNode status = run("private", backing, pages, pageSize, hugepages, home);
        assertEquals(0, status.get("evictions").asInt(), status.toString());
    }

    @ParameterizedTest
    @CsvSource({"memfd, 512, 4096, 0", "hugetlb, 80, 2097152, 84"})
    void shouldLoseNoStoreOfAChildThatSharesTheMemory(String backing, int pages, int pageSize, int hugepages)
            throws Exception {
        JsonNode status = run("shared", backing, pages, pageSize, hugepages);
        assertEquals(pages, status.get("peakResidentPages").asInt(), "all that both touched stayed: " + status);
        assertTrue(status.get("evictions").asInt() >= 3 * (pages - LOCAL_PAGES), "evicted again: " + status);
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource({"memfd, 512, 4096, 0", "hugetlb, 80, 2097152, 84", "anonymous, 512, 4096, 0"})
    void shouldServeAChildThatOutlivesItsParent(String backing, int pages, int pageSize, int hugepages)
            throws Exception {
        JsonNode status = run("heir", backing, pages, pageSize, hugepages);
        boolean evicts = !backing.equals("anonymous");
        assertEquals(evicts, status.get("evictions").asInt() >= 2 * (pages - LOCAL_PAGES), status.toString());
        if (evicts) {
            await("the agent lets go of it", Duration.ofSeconds(10))
                    .until(() -> cluster.agent("b").page(space, 0).status() == 200);
            for (int page = 0; page < pages; page++) {
                byte[] home = cluster.agent("b").page(space, page).expect(200).body();
                ByteBuffer words = ByteBuffer.wrap(home).order(ByteOrder.nativeOrder());
                assertEquals(page < pages / 2 ? 1000 + page : page + 1, words.getLong(0), "page " + page);
                assertEquals(4, words.getLong(8), "page " + page);
                assertEquals(3, words.getLong(24), "page " + page);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"memfd, 512, 4096, 0", "hugetlb, 80, 2097152, 68"})
    void shouldMapWhatTheVmmWrotePastItsMapping(String backing, int pages, int pageSize, int hugepages)
            throws Exception {
        JsonNode status = run("minor", backing, pages, pageSize, hugepages);
        assertTrue(status.get("repeatedFaults").asInt() >= pages / 2, status.toString());
        assertTrue(status.get("evictions").asInt() >= 3 * (pages - LOCAL_PAGES), status.toString());
    }

    private JsonNode run(String scenario, String backing, int pages, int pageSize, int hugepages) throws Exception {
        return run(scenario, backing, pages, pageSize, hugepages, "b");
    }

    /**
     * Runs a scenario on a space whose pages hold their number plus one, and gives what is known of the guest when it
     * has ended.
     */
    private JsonNode run(String scenario, String backing, int pages, int pageSize, int hugepages, String home)
            throws Exception {
        Optional<BorrowedHugepages> borrowed =
                hugepages == 0 ? Optional.empty() : Optional.of(BorrowedHugepages.take(hugepages));
        space = scenario + "-" + backing + "-" + home;
        try {
            cluster.makeSpace(space, pages, pageSize, home);
            for (int page = 0; page < pages; page++) {
                byte[] bytes = new byte[pageSize];
                ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).putLong(page + 1L);
                cluster.agent("a").putPage(space, page, bytes).expect(204);
            }
            guests.attach(space, socket(), (long) pages * pageSize, (long) LOCAL_PAGES * pageSize, pageSize);
            List<String> command = List.of(
                    program.orElseThrow().toString(), socket().toString(), backing, Integer.toString(pages), scenario);
            try (ChildJvm process = ChildJvm.launch("registered-ram", command, Map.of(), directory)) {
                await("the scenario's end", Duration.ofSeconds(110)).until(() -> !process.isAlive());
                assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            }
            JsonNode status = guests.awaitEnded(space);
            assertEquals(0, status.get("children").asInt(), status.toString());
            guests.forget(space);
            return status;
        } finally {
            borrowed.ifPresent(BorrowedHugepages::close);
        }
    }

    @AfterEach
    void drop() {
        guests.drop(space);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
