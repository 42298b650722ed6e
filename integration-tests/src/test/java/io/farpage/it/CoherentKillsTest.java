package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.WordHistory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Threads on two nodes load and store words of a coherent space, while processes are killed and stand still. What they
 * have loaded is compared with what they have stored, and when.
 */
@NeedsUserfaultfd
@EnabledOnOs(architectures = "amd64", disabledReason = "StoreInstruction is machine code for x86-64")
@Tag("processes")
class CoherentKillsTest {
    private static final int PAGES = 192;
    private static final int LOCAL_PAGES = 64;
    private static final int THREADS = 2;
    private static final int KINDS = 6;
    private static final int FAILURES = KINDS;
    private static final int MANY_FAILURES = Integer.getInteger("farpage.failures", 200);
    private static final long MANY_OPERATIONS = Long.getLong("farpage.operations", 10_000_000);
    /** Each is 512 runs of a litmus test. */
    private static final int MANY_BATCHES = Integer.getInteger("farpage.batches", 196);

    private static final String SPACE = "shared";
    private static final String TWO_HOMES = "two";
    private static final Map<String, String> UNKEPT = Map.of("pool.exported", "2MiB");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    private final List<KeeperProcess> keepers = new ArrayList<>();
    private final Map<String, Map<String, String>> settings = new HashMap<>();
    private final SplittableRandom random = new SplittableRandom(31);
    private final List<Toucher> touchers = new ArrayList<>();
    private volatile boolean stopped;

    @BeforeEach
    void start() {
        cluster = Cluster.startProcess();
        for (String node : List.of("home", "a", "b")) {
            launchKept(node, Map.of("pool.exported", "4MiB"));
        }
        cluster.launchAgent("unkept", UNKEPT);
        cluster.awaitAllLinks();
        cluster.coordinator()
                .rest()
                .sendJson(
                        "POST",
                        "/api/v1/spaces",
                        "{\"name\": \"%s\", \"sizeBytes\": %d, \"coherent\": true, \"homes\": [\"home\"]}"
                                .formatted(SPACE, PAGES * 4096))
                .expect(201);
    }

    /** Starts an agent with a keeper of its own. */
    private AgentProcess launchKept(String node, Map<String, String> own) {
        KeeperProcess keeper = KeeperProcess.start(node, directory.resolve(node + ".keeper"));
        keepers.add(keeper);
        Map<String, String> all = new HashMap<>(own);
        all.putAll(keeper.settings());
        settings.put(node, all);
        return cluster.launchAgent(node, all);
    }

    @AfterEach
    void end() {
        cluster.close();
        keepers.forEach(KeeperProcess::close);
    }

    /** A thread of a member. */
    private final class Toucher {
        final PagedRam ram;
        final int number;
        final WordHistory[] words =
                IntStream.range(0, PAGES).mapToObj(_ -> new WordHistory()).toArray(WordHistory[]::new);
        final Thread thread = new Thread(this::run);
        volatile long operations;

        Toucher(PagedRam ram, int number) {
            this.ram = ram;
            this.number = number;
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            SplittableRandom own = new SplittableRandom(number);
            long done = 0;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment word = arena.allocate(Long.BYTES, Long.BYTES);
                while (!stopped) {
                    // Half of them are about few pages, which the nodes take from each other.
                    int page = own.nextBoolean() ? own.nextInt(4) : own.nextInt(PAGES);
                    long began = System.nanoTime();
                    if (own.nextInt(3) == 0) {
                        long value = ((long) number << 48) | (operations + 1);
                        ram.store(page, value);
                        VarHandle.fullFence(); // its own thread may see the store before all others do
                        words[page].stored(value, began, System.nanoTime());
                    } else {
                        long value = ram.load(page, word);
                        words[page].loaded(value, began, System.nanoTime());
                    }
                    done++;
                    operations = done;
                }
            }
        }
    }

    private PagedRam join(Guests guests, String node) {
        return join(guests, node, SPACE);
    }

    private PagedRam join(Guests guests, String node, String space) {
        return PagedRam.handOver(attach(guests, node, space), PAGES);
    }

    private Path attach(Guests guests, String node, String space) {
        Path socket = directory.resolve("socket-" + node);
        guests.tryAttach(space, "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL_PAGES * 4096))
                .expect(200);
        return socket;
    }

    /** Waits until every thread has gone on. */
    private void awaitProgress() {
        long[] before =
                touchers.stream().mapToLong(toucher -> toucher.operations).toArray();
        await("all threads go on", Deadlines.LONG)
                .until(() ->
                        IntStream.range(0, before.length).allMatch(i -> touchers.get(i).operations > before[i] + 20));
    }

    /** Threads that touch memory until this is closed, before the memory is unmapped. */
    private final class Touching implements AutoCloseable {
        Touching(PagedRam... rams) {
            for (PagedRam ram : rams) {
                for (int i = 0; i < THREADS; i++) {
                    touchers.add(new Toucher(ram, touchers.size() + 1));
                }
            }
        }

        @Override
        public void close() {
            stopped = true;
            await("no thread waits for a page for ever", Deadlines.LONG)
                    .until(() -> touchers.stream().noneMatch(toucher -> toucher.thread.isAlive()));
        }
    }

    /** Each load gave what the latest store had stored. Returns how many loads and stores there were. */
    private int check() {
        int operations = 0;
        for (int page = 0; page < PAGES; page++) {
            WordHistory all = new WordHistory();
            for (Toucher toucher : touchers) {
                all.add(toucher.words[page]);
            }
            assertEquals(Optional.empty(), all.contradiction(), "page " + page);
            operations += all.size();
        }
        return operations;
    }

    private void killAgent(String node, Map<String, String> own) throws Exception {
        String before = cluster.incarnation(node);
        cluster.process(node).process().kill();
        cluster.startAgent(node, own);
        cluster.awaitActive(node, before);
    }

    /** Kills the agent of a node with a keeper. */
    private void killAgent(String node) throws Exception {
        killAgent(node, Objects.requireNonNull(settings.get(node)));
    }

    private void standStill(ChildJvm process) throws InterruptedException {
        process.stop();
        Thread.sleep(random.nextInt(1500));
        process.resume();
    }

    private void fail(int kind) throws Exception {
        switch (kind) {
            case 0 -> killAgent("home");
            case 1 -> {
                cluster.coordinatorProcess().process().kill();
                cluster.coordinatorProcess().restart();
            }
            case 2 -> killAgent(random.nextBoolean() ? "a" : "b");
            case 3 -> standStill(cluster.process("home").process());
            case 4 -> {
                killAgent("a");
                killAgent("home");
                killAgent("b");
            }
            default ->
                standStill(cluster.process(random.nextBoolean() ? "a" : "b").process());
        }
    }

    /**
     * @param failures one after the other, each when all threads have gone on
     * @param operations loads and stores between one failure and the next, at least
     */
    private void run(int failures, long operations) throws Exception {
        Guests a = new Guests(cluster, "a", "home");
        Guests b = new Guests(cluster, "b", "home");
        try (PagedRam one = join(a, "a");
                PagedRam other = join(b, "b");
                Touching _ = new Touching(one, other)) {
            awaitProgress();
            for (int i = 0; i < failures; i++) {
                fail(i % KINDS);
                for (long enough = operations() + operations; operations() < enough; ) {
                    awaitProgress();
                }
            }
        }
        for (Guests each : List.of(a, b)) {
            JsonNode status = each.awaitEnded(SPACE);
            assertEquals(0, status.get("lostPages").asInt(), status::toString);
        }
        assertTrue(cluster.client().space(SPACE).orElseThrow().torn().isEmpty());
        System.out.println(check() + " loads and stores under " + failures + " failures");
    }

    private long operations() {
        return touchers.stream().mapToLong(toucher -> toucher.operations).sum();
    }

    @Test
    void shouldShowNoOldValueWhenProcessesAreKilled() throws Exception {
        run(FAILURES, 1);
    }

    @Test
    @Tag("soak")
    void shouldShowNoOldValueUnderManyFailures() throws Exception {
        run(MANY_FAILURES, 1);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 2, unit = TimeUnit.HOURS)
    void shouldShowNoOldValueInManyOperations() throws Exception {
        run(FAILURES, MANY_OPERATIONS / FAILURES);
    }

    /** What x86-TSO forbids, as published; see {@link CoherentSpaceTest}. */
    @ParameterizedTest
    @CsvFileSource(resources = "x86-tso.csv", numLinesToSkip = 1)
    @Tag("soak")
    void shouldShowNoForbiddenOutcomeUnderFailures(String test, boolean isAllowed) throws Exception {
        SharedRam program = SharedRam.compileCoherent(directory);
        List<ChildJvm> processes = new ArrayList<>();
        try {
            for (String node : List.of("a", "b")) {
                processes.add(ChildJvm.launch(
                        "litmus-" + node,
                        program.preloaded(List.of(
                                "" + PAGES, node.equals("a") ? "0" : "1", "2", "litmus", test, "" + MANY_BATCHES)),
                        Map.of(
                                "FARPAGE_SOCKET",
                                attach(new Guests(cluster, node, "home"), node, SPACE)
                                        .toString(),
                                "FARPAGE_MEMFD_NAME",
                                "coherent"),
                        directory));
            }
            int failures = 0;
            for (; processes.stream().anyMatch(ChildJvm::isAlive); failures++) {
                Thread.sleep(random.nextInt(3000));
                fail(failures % KINDS);
            }
            for (ChildJvm process : processes) {
                assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            }
            JsonNode result = new JsonMapper().readTree(processes.getFirst().out());
            assertEquals(MANY_BATCHES * 512, result.get("runs").asInt());
            assertTrue(isAllowed || result.get("seen").asInt() == 0, result.toString());
            System.out.println(result + " under " + failures + " failures");
        } finally {
            processes.forEach(ChildJvm::close);
        }
    }

    @Test
    void shouldShowNoOldValueWhenAgentHandsOver() throws Exception {
        Map<String, String> own = Map.of("pool.exported", "4MiB", "keeper.standby", "true");
        AgentProcess holder = launchKept("holder", own);
        cluster.awaitAllLinks();
        try (PagedRam one = join(new Guests(cluster, "holder", "home"), "holder");
                PagedRam other = join(new Guests(cluster, "b", "home"), "b");
                Touching _ = new Touching(one, other)) {
            awaitProgress();
            AgentProcess standby = cluster.launchAgent("holder", Objects.requireNonNull(settings.get("holder")));
            await("the standby is warm", Deadlines.LONG)
                    .until(() -> standby.process().err().contains("warm: this process takes over"));
            assertEquals(
                    202,
                    holder.rest()
                            .send("POST", "/api/v1/handover", "application/json", new byte[0])
                            .status());
            assertEquals(0, holder.process().awaitEnd());
            standby.awaitListening();
            await("the standby adopts the guest", Deadlines.LONG)
                    .until(() -> standby.process().err().contains("adopted, "));
            awaitProgress();
        }
        assertEquals(
                Optional.empty(), cluster.client().space(SPACE).orElseThrow().torn());
        System.out.println(check() + " loads and stores under a handover");
    }

    /** A home fails for good, with all that it has; then the agent of the other one is killed. */
    @Test
    void shouldLoseNothingWhenOneOfTwoHomesIsLost() throws Exception {
        Map<String, String> own = Map.of("pool.exported", "4MiB");
        launchKept("spare", own);
        cluster.awaitAllLinks();
        cluster.coordinator()
                .rest()
                .sendJson(
                        "POST",
                        "/api/v1/spaces",
                        ("{\"name\": \"%s\", \"sizeBytes\": %d, \"coherent\": true, \"replicas\": 2,"
                                        + " \"homes\": [\"unkept\", \"spare\"]}")
                                .formatted(TWO_HOMES, PAGES * 4096))
                .expect(201);
        Guests a = new Guests(cluster, "a", "spare");
        Guests b = new Guests(cluster, "b", "spare");
        try (PagedRam one = join(a, "a", TWO_HOMES);
                PagedRam other = join(b, "b", TWO_HOMES);
                Touching _ = new Touching(one, other)) {
            awaitProgress();
            cluster.process("unkept").process().kill();
            awaitProgress();
            assertEquals(List.of("spare"), homes());
            killAgent("spare");
            awaitProgress();
        }
        for (Guests each : List.of(a, b)) {
            JsonNode status = each.awaitEnded(TWO_HOMES);
            assertEquals(0, status.get("lostPages").asInt(), status::toString);
        }
        assertTrue(cluster.client().space(TWO_HOMES).orElseThrow().torn().isEmpty());
        System.out.println(check() + " loads and stores while a home was lost");
    }

    private List<String> homes() throws Exception {
        return cluster.client().extents(TWO_HOMES).orElseThrow().extents().stream()
                .flatMap(extent -> extent.homes().stream())
                .map(ExtentHome::node)
                .distinct()
                .toList();
    }

    @Test
    void shouldLoseLoudlyWhatAMemberHadWhenItsAgentIsKilled() throws Exception {
        Guests b = new Guests(cluster, "b", "home");
        MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
        PagedRam dead = join(new Guests(cluster, "unkept", "home"), "unkept");
        try (PagedRam ram = join(b, "b")) {
            ram.store(0, 1);
            ram.store(1, 1);
            assertEquals(1, dead.load(0, word));
            dead.store(1, 2);
            killAgent("unkept", UNKEPT);
            await("the space is torn", Deadlines.LONG)
                    .until(() ->
                            cluster.client().space(SPACE).orElseThrow().torn().isPresent());
            assertEquals(1, ram.load(0, word));
            await("the page that the dead member had is lost", Deadlines.LONG).until(() -> !ram.isReadable(1));
            assertFalse(ram.isReadable(1));
            ram.store(0, 3);
            assertEquals(3, ram.load(0, word));
        } finally {
            dead.closeWithoutAgent();
        }
        assertEquals(1, b.awaitEnded(SPACE).get("lostPages").asInt());
    }
}
