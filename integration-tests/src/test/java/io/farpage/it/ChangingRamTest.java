package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.BorrowedHugepages;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.SharedRam;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * VMMs that change their mappings while they are paged: every thread goes on, every page is as it was, and no other
 * guest waits.
 */
@Tag("processes")
class ChangingRamTest {
    private static final int LOCAL_PAGES = 64;
    private static final int PAGES = 512;
    private static final Map<String, String> PAGER = Map.of("pool.staging", "32MiB", "fetch.deadline", "2s");
    private static final Map<String, String> HOME = Map.of("pool.exported", "1GiB", "pool.staging", "32MiB");

    /** What a loaded machine may take for a page of a guest that does nothing unusual. */
    private static final Duration LONGEST_FAULT = Duration.ofSeconds(2);

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
        program = Optional.of(SharedRam.compileChanging(built));
        cluster = Cluster.start();
        cluster.launchAgent("a", PAGER).awaitListening();
        cluster.launchAgent("b", HOME).awaitListening();
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    /** So that one failure is not that of every test behind it. */
    @BeforeEach
    void restoreAgent() {
        if (!cluster.process("a").process().isAlive()) {
            cluster.startAgent("a", PAGER);
            cluster.awaitAllLinks();
        }
    }

    @AfterAll
    static void stopNodes() {
        Optional.ofNullable(cluster).ifPresent(Cluster::close);
    }

    @ParameterizedTest
    @CsvSource({"split, memfd, 512, 4096, 0", "split, hugetlb, 80, 2097152, 68"})
    void shouldServeEveryPageWhenTheVmmSplitsItsMappings(
            String scenario, String backing, int pages, int pageSize, int hugepages) throws Exception {
        requireEveryPage(scenario, backing, pages, pageSize, hugepages);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(strings = {"populate", "replace", "remap"})
    void shouldServeEveryPageWhenTheVmmMapsItsMemoryAnew(String scenario) throws Exception {
        requireEveryPage(scenario, "memfd", 512, 4096, 0);
    }

    private void requireEveryPage(String scenario, String backing, int pages, int pageSize, int hugepages)
            throws Exception {
        Optional<BorrowedHugepages> borrowed =
                hugepages == 0 ? Optional.empty() : Optional.of(BorrowedHugepages.take(hugepages));
        try {
            fill(scenario + "-" + backing, pages, pageSize);
            try (ChildJvm vmm = launch(backing, pages, pageSize, scenario)) {
                assertSucceeds(vmm);
            }
            JsonNode status = guests.awaitEnded(space);
            assertTrue(status.get("evictions").asInt() >= pages - LOCAL_PAGES, "evicted meanwhile: " + status);
        } finally {
            borrowed.ifPresent(BorrowedHugepages::close);
        }
    }

    /** The removal takes several turns of the pager, between which nothing of what it covers may come back. */
    @Test
    void shouldReadZerosAndThenWritesWhenAllPagesAreRemovedAtOnce() throws Exception {
        space = "remove";
        int pages = 60_000;
        cluster.makeSpace(space, pages, 4096, "b");
        try (ChildJvm vmm = launch("memfd", pages, 4096, "remove")) {
            assertSucceeds(vmm);
        }
    }

    @Test
    void shouldServeOtherGuestsWhenSixteenTebibytesAreUnmapped() throws Exception {
        fill("unmap", PAGES, 4096);
        try (ChildJvm vmm = launch("memfd", PAGES, 4096, "unmap")) {
            awaitReady(vmm);
            assertOthersAreServedUntil(nanos -> {
                if (nanos > Duration.ofSeconds(1).toNanos() && !Files.exists(file())) {
                    say();
                }
                return !vmm.isAlive();
            });
            assertSucceeds(vmm);
        }
    }

    @Test
    @Tag("soak")
    void shouldServeOtherGuestsWhenAHundredThreadsRemovePages() throws Exception {
        fill("storm", PAGES, 4096);
        try (ChildJvm vmm = launch("memfd", PAGES, 4096, "storm")) {
            awaitReady(vmm);
            assertOthersAreServedUntil(nanos -> nanos > Duration.ofSeconds(5).toNanos());
            say();
            assertSucceeds(vmm);
        }
    }

    @Test
    @Tag("soak")
    void shouldKillReadersOfLostPagesWhenOtherThreadsRemovePages() throws Exception {
        fill("lost", PAGES, 4096);
        try (ChildJvm vmm = launch("memfd", PAGES, 4096, "lost")) {
            awaitReady(vmm);
            String before = cluster.incarnation("b");
            cluster.process("b").process().kill();
            cluster.startAgent("b", HOME);
            cluster.awaitActive("b", before);
            say();
            assertSucceeds(vmm);
            int lost = Integer.parseInt(vmm.out()
                    .lines()
                    .filter(line -> line.endsWith(" lost"))
                    .findFirst()
                    .orElseThrow()
                    .replace(" lost", ""));
            assertTrue(lost >= PAGES - 1 - LOCAL_PAGES && lost < PAGES, vmm.out());
        } finally {
            cluster.awaitAllLinks();
        }
    }

    /** The page arrives after its hole was punched and before the agent is told that it was given up. */
    @Test
    void shouldLetTheGuestWriteToAPageThatArrivesInItsHole() throws Exception {
        fill("punch", PAGES, 4096);
        try (ChildJvm vmm = launch("memfd", PAGES, 4096, "punch")) {
            awaitReady(vmm);
            cluster.process("b").process().stop();
            try {
                say();
                await("the hole", Duration.ofSeconds(60)).until(() -> vmm.out().contains("punched"));
            } finally {
                cluster.process("b").process().resume();
            }
            assertSucceeds(vmm);
        } finally {
            cluster.awaitAllLinks();
        }
    }

    /**
     * @param spare descriptors that are left to the agent: the first is the child's userfaultfd
     */
    @ParameterizedTest
    @Tag("soak")
    @CsvSource({"0", "1"})
    void shouldServeTheChildWhenTheAgentHadNoDescriptorForIt(int spare) throws Exception {
        fill("fork", PAGES, 4096);
        long agent = cluster.process("a").process().pid();
        try (ChildJvm vmm = launch("memfd", PAGES, 4096, "fork")) {
            awaitReady(vmm);
            guests.awaitAttached(space);
            String before = ProcFs.descriptorLimit(agent);
            limitDescriptors(agent, ProcFs.descriptorLimitFor(agent, spare));
            try {
                say();
                await("the child is served, or waits for a descriptor", Duration.ofSeconds(4))
                        .during(Duration.ofSeconds(2))
                        .until(() -> cluster.process("a").process().isAlive());
            } finally {
                limitDescriptors(agent, before);
            }
            assertSucceeds(vmm);
        }
        assertEquals(0, guests.awaitEnded(space).get("children").asInt());
    }

    private static void limitDescriptors(long pid, String most) throws Exception {
        Process prlimit = new ProcessBuilder("prlimit", "--pid=" + pid, "--nofile=" + most + ":")
                .inheritIO()
                .start();
        assertEquals(0, prlimit.waitFor());
    }

    private interface Condition {
        boolean holds(long sinceNanos) throws IOException;
    }

    /** Another guest of the same shard reads pages that have to be fetched. */
    private void assertOthersAreServedUntil(Condition isOver) throws IOException {
        Path socket = directory.resolve("other");
        guests.attach("other", socket, PAGES * 4096L, LOCAL_PAGES * 4096L);
        try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            long begin = System.nanoTime();
            long longest = 0;
            for (int i = 0; !isOver.holds(System.nanoTime() - begin); i++) {
                // First every page is written, then read in another order.
                int page = i < PAGES ? i : i * 37 % PAGES;
                byte[] expected = Pages.of(1, page, 4096);
                long start = System.nanoTime();
                Deadlines.Wait wait = Deadlines.begin("page " + page + " of another guest", LONGEST_FAULT);
                if (i < PAGES) {
                    ram.write(page, expected);
                } else {
                    assertArrayEquals(expected, ram.read(page));
                }
                longest = Math.max(longest, System.nanoTime() - start);
                wait.check();
            }
            System.out.println(space + ": the longest fault of another guest took " + longest / 1_000 + " us");
        } finally {
            guests.drop("other");
        }
    }

    private void fill(String name, int pages, int pageSize) throws CoordinatorException {
        space = name;
        cluster.makeSpace(space, pages, pageSize, "b");
        for (int page = 0; page < pages; page++) {
            byte[] bytes = new byte[pageSize];
            ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).putLong(page + 1L);
            cluster.agent("a").putPage(space, page, bytes).expect(204);
        }
    }

    private ChildJvm launch(String backing, int pages, int pageSize, String scenario) {
        Path socket = directory.resolve("socket");
        guests.attach(space, socket, (long) pages * pageSize, (long) LOCAL_PAGES * pageSize, pageSize);
        List<String> command = List.of(
                program.orElseThrow().toString(),
                socket.toString(),
                backing,
                Integer.toString(pages),
                scenario,
                file().toString());
        return ChildJvm.launch("changing-ram", command, Map.of(), directory);
    }

    private static void awaitReady(ChildJvm vmm) {
        await("the VMM is ready", Duration.ofSeconds(60)).until(() -> vmm.out().contains("ready") || !vmm.isAlive());
    }

    private void assertSucceeds(ChildJvm vmm) {
        await("the scenario's end", Duration.ofSeconds(110)).until(() -> !vmm.isAlive());
        assertEquals(0, vmm.awaitEnd(), () -> vmm.out() + vmm.err());
    }

    /** Tells the VMM to go on. */
    private void say() throws IOException {
        Files.createFile(file());
    }

    private Path file() {
        return directory.resolve("file");
    }

    @AfterEach
    void drop() {
        guests.drop(space);
    }
}
