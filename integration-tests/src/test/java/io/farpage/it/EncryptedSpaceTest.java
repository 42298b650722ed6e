package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.FilePages;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.HomeMemory;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import io.farpage.linux.crypto.LibCrypto;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Guests of encrypted spaces over real agents, and a home whose memory the test reads and changes. */
@NeedsUserfaultfd
@Tag("processes")
class EncryptedSpaceTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 1280;
    private static final int LOCAL_PAGES = 128;
    /** Each look is a request; a lie that is not noticed is given to the guest, which is looked at after each. */
    private static final int LIES_PER_LOOK = 64;

    private static final byte[] MARKER = "a secret that no home may read".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Path shared;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    private final Guests guests = new Guests(cluster, "a", "b");

    private static Map<String, String> settings(String node) {
        return Map.of(
                "seal.keys",
                shared.resolve("keys").toString(),
                "seal.directory",
                shared.resolve("seal-" + node).toString());
    }

    @BeforeAll
    static void start() throws Exception {
        LibCrypto.Loading library = LibCrypto.load(Optional.empty());
        assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);
        Path keys = Files.createDirectories(shared.resolve("keys"));
        Path key = Files.writeString(keys.resolve("default.key"), "c0ffee00".repeat(8));
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        cluster = Cluster.start();
        List.of("a", "b").forEach(node -> cluster.launchAgent(node, settings(node)));
        cluster.openAgent("c", settings("c"));
        cluster.awaitAllLinks();
    }

    @AfterAll
    static void end() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @AfterEach
    void drop() {
        guests.drop("sealed");
        new Guests(cluster, "c", "b").drop("sealed");
        await("the space is gone", Deadlines.LONG)
                .until(() -> cluster.client().space("sealed").isEmpty());
    }

    private Path socket() {
        return directory.resolve("socket");
    }

    private String request(String more) {
        return "{\"socket\": \"%s\", \"sizeBytes\": %d, \"homes\": [\"b\"], \"localBytes\": %d, \"encrypted\": true%s}"
                .formatted(socket(), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE, more);
    }

    private static byte[] contents(int page, int version) {
        byte[] bytes = new byte[PAGE];
        for (int at = 0; at + MARKER.length <= PAGE; at += 512) {
            System.arraycopy(MARKER, 0, bytes, at, MARKER.length);
        }
        ByteBuffer.wrap(bytes).putInt(PAGE - 8, page).putInt(PAGE - 4, version);
        return bytes;
    }

    private static void write(PagedRam ram, int version) {
        for (int page = 0; page < PAGES; page++) {
            ram.write(page, contents(page, version));
        }
    }

    private void awaitDetached(String node) {
        await("detached", Deadlines.LONG)
                .until(() -> cluster.client().attachments("sealed").isEmpty());
        new Guests(cluster, node, "b").forget("sealed");
    }

    private int integrityFailures() {
        return guests.status("sealed").get("integrityFailures").asInt();
    }

    @Test
    void shouldKeepPagesRightAndSecretUnderEvictionPressure() throws Exception {
        guests.tryAttach("sealed", request("")).expect(200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES);
                HomeMemory home = HomeMemory.open(cluster, "b", "sealed")) {
            assertTrue(guests.awaitAttached("sealed").get("encrypted").asBoolean());
            for (int version = 1; version <= 3; version++) {
                write(ram, version);
                for (int page = 0; page < PAGES; page++) {
                    assertArrayEquals(contents(page, version), ram.read(page), "page " + page);
                }
                assertEquals(0, home.count(MARKER), "occurrences of the marker in the home's pool");
            }
            assertTrue(guests.status("sealed").get("writtenBackPages").asInt() > 2 * PAGES);
            assertFalse(Arrays.equals(new byte[PAGE], home.read(0)), "the page is at its home");
        }
        assertEquals(0, guests.awaitEnded("sealed").get("integrityFailures").asInt());
    }

    @Test
    void shouldKeepTwoThreadsPagesRight() throws Exception {
        guests.tryAttach("sealed", request(", \"prefetchPages\": 8")).expect(200);
        try (ShadowedRam ram = ShadowedRam.start(socket(), PAGES, 2, System.nanoTime())) {
            await("evictions", Deadlines.LONG)
                    .until(() -> guests.status("sealed").get("evictions").asInt() > 5 * PAGES);
            assertEquals(List.of(), ram.mismatches());
            ram.stop();
            assertEquals(List.of(), ram.mismatches());
            assertEquals(0, integrityFailures());
        }
        guests.awaitEnded("sealed");
    }

    /** A guest of node a writes all pages, and ends. */
    private void fill() {
        guests.tryAttach("sealed", request("")).expect(200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            write(ram, 1);
        }
        guests.awaitEnded("sealed");
        awaitDetached("a");
    }

    @Test
    void shouldOpenTheSpaceAgainInAnotherProcessOfTheAgent() throws Exception {
        fill();
        String before = cluster.incarnation("a");
        cluster.process("a").process().terminate();
        cluster.process("a").process().awaitEnd();
        cluster.startAgent("a", settings("a"));
        cluster.awaitActive("a", before);
        cluster.awaitAllLinks();
        guests.tryAttach("sealed", request("")).expect(200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page++) {
                assertArrayEquals(contents(page, 1), ram.read(page), "page " + page);
            }
        }
        assertEquals(0, guests.awaitEnded("sealed").get("integrityFailures").asInt());
        awaitDetached("a");
    }

    @Test
    void shouldOpenTheSpaceOnAnotherNodeOnceItsTagsAreThere() throws Exception {
        fill();
        guests.tryAttach("sealed", request("")).expect(200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page += 3) {
                ram.write(page, contents(page, 2));
            }
        }
        guests.awaitEnded("sealed");
        awaitDetached("a");
        Guests other = new Guests(cluster, "c", "b");
        Answer refused = other.tryAttach("sealed", request("")).expect(409);
        assertTrue(refused.problem().detail().contains("node 'a' wrote it"), refused::toString);
        String file = "space-%d.seal"
                .formatted(cluster.client().space("sealed").orElseThrow().id());
        Files.move(
                shared.resolve("seal-a").resolve(file), shared.resolve("seal-c").resolve(file));
        await("attached, once the refused attachment has ended", Deadlines.LONG)
                .until(() -> other.tryAttach("sealed", request("")).status() == 200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page++) {
                assertArrayEquals(contents(page, page % 3 == 0 ? 2 : 1), ram.read(page), "page " + page);
            }
        }
        assertEquals(0, other.awaitEnded("sealed").get("integrityFailures").asInt());
        awaitDetached("c");
    }

    @Test
    void shouldRefuseTheSpaceOfAKilledAgentUnlessItIsReset() throws Exception {
        guests.tryAttach("sealed", request("")).expect(200);
        PagedRam ram = PagedRam.handOver(socket(), PAGES);
        try {
            write(ram, 1);
        } finally {
            String before = cluster.incarnation("a");
            cluster.process("a").process().kill();
            ram.closeWithoutAgent();
            cluster.startAgent("a", settings("a"));
            cluster.awaitActive("a", before);
            cluster.awaitAllLinks();
        }
        Answer torn = await("the homes have cut the killed agent off", Deadlines.LONG)
                .until(
                        () -> guests.tryAttach("sealed", request("")),
                        answer -> answer.text().contains("space-torn"));
        assertEquals(409, torn.status());
        guests.tryAttach("sealed", request(", \"reset\": true")).expect(200);
        try (PagedRam fresh = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page += 16) {
                assertArrayEquals(new byte[PAGE], fresh.read(page), "page " + page + " begins with zeros");
            }
        }
        guests.awaitEnded("sealed");
        awaitDetached("a");
    }

    @Test
    void shouldRefusePagesAndImagesOfAnEncryptedSpace() throws Exception {
        guests.tryAttach("sealed", request("")).expect(200);
        guests.forget("sealed");
        await("detached", Deadlines.LONG)
                .until(() -> cluster.client().attachments("sealed").isEmpty());
        for (Answer answer : List.of(
                cluster.agent("a").page("sealed", 3),
                cluster.agent("a").putPage("sealed", 3, new byte[PAGE]),
                cluster.agent("a").rest().get("/api/v1/spaces/sealed/memory"))) {
            assertEquals(409, answer.status(), answer::toString);
            assertTrue(answer.problem().detail().contains("is encrypted"), answer::toString);
        }
        assertEquals(
                0,
                cluster.client().space("sealed").orElseThrow().encryption().orElseThrow().sealed().stream()
                        .count());
    }

    /** What a home does to a page. */
    private enum Lie {
        FLIP,
        REPLAY,
        SWAP,
        SHIFT,
        ZERO,
        GARBAGE
    }

    @Test
    void shouldNoticeAThousandLiesOfAHome() throws Exception {
        assertTrue(lieToAGuest(1) >= 1_000);
    }

    @Tag("soak")
    @Timeout(1800)
    @Test
    void shouldNoticeAHundredThousandLiesOfAHome() throws Exception {
        int wanted = Soak.part(100_000);
        int lies = 0;
        for (int round = 0; lies < wanted; round++) {
            lies += lieToAGuest(round);
            drop();
        }
    }

    /** Runs a guest whose home alters every page. Returns the number of altered pages; the agent detected all. */
    private int lieToAGuest(int round) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime()) + round;
        SplittableRandom random = new SplittableRandom(seed);
        String failure = "seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")";
        guests.tryAttach("sealed", request(", \"prefetchPages\": 1")).expect(200);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES);
                HomeMemory home = HomeMemory.open(cluster, "b", "sealed")) {
            write(ram, 1);
            byte[][] before = pages(home);
            write(ram, 2);
            BitSet away = awaitQuiet(ram);
            byte[][] now = pages(home);
            int lies = 0;
            for (int page = away.nextSetBit(0); page >= 0; page = away.nextSetBit(page + 1)) {
                int other = away.nextSetBit(page + 1) < 0 ? away.nextSetBit(0) : away.nextSetBit(page + 1);
                home.write(
                        page,
                        lie(
                                Lie.values()[random.nextInt(Lie.values().length)],
                                page,
                                now,
                                before[page],
                                now[other],
                                random));
                assertFalse(ram.isReadable(page), "page " + page + " was given to the guest, " + failure);
                lies++;
                if (lies % LIES_PER_LOOK == 0) {
                    assertEquals(lies, integrityFailures(), failure);
                }
            }
            for (int page = 0; page < PAGES; page++) {
                if (!away.get(page)) {
                    assertArrayEquals(contents(page, 2), ram.read(page), "page " + page + ", " + failure);
                }
            }
            assertEquals(lies, integrityFailures(), failure);
            assertEquals(lies, guests.status("sealed").get("lostPages").asInt());
            return lies;
        } finally {
            guests.awaitEnded("sealed");
        }
    }

    private static byte[] lie(Lie lie, int page, byte[][] now, byte[] before, byte[] other, SplittableRandom random) {
        byte[] told = now[page].clone();
        switch (lie) {
            case FLIP -> told[random.nextInt(PAGE)] ^= (byte) (1 << random.nextInt(8));
            case REPLAY -> told = before;
            case SWAP -> told = other;
            case SHIFT -> {
                int by = 1 + random.nextInt(PAGE - 1);
                System.arraycopy(now[page], by, told, 0, PAGE - by);
                System.arraycopy(other, 0, told, PAGE - by, by);
            }
            case ZERO -> told = new byte[PAGE];
            case GARBAGE -> random.nextBytes(told);
        }
        return told;
    }

    private static byte[][] pages(HomeMemory home) throws Exception {
        byte[][] all = new byte[PAGES][];
        for (int page = 0; page < PAGES; page++) {
            all[page] = home.read(page);
        }
        return all;
    }

    /** Waits until eviction has ended. Returns the pages that are at their home alone. */
    private BitSet awaitQuiet(PagedRam ram) {
        long[] last = {-1};
        await("no more evictions", Deadlines.LONG)
                .pollInterval(java.time.Duration.ofMillis(100))
                .until(() -> {
                    long evictions = guests.status("sealed").get("evictions").asLong();
                    boolean same = evictions == last[0];
                    last[0] = evictions;
                    return same;
                });
        BitSet away = FilePages.resident(ram.file(), PAGES, PAGE);
        away.flip(0, PAGES);
        return away;
    }
}
