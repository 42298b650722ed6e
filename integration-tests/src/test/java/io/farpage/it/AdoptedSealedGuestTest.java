package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PageVersions;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import io.farpage.linux.crypto.LibCrypto;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The agent of a guest whose space is encrypted is killed and started again: what the guest reads then, and what the
 * guest after it reads, opens and is right.
 */
@NeedsUserfaultfd
@Tag("processes")
class AdoptedSealedGuestTest {
    private static final long PAGE = 4096;
    private static final int PAGES = 256;
    private static final long LOCAL_PAGES = 64;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @SuppressWarnings("NullAway.Init") // set before each test
    private KeeperProcess keeper;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    private final Map<String, String> settings = new HashMap<>();
    private Path key = Path.of("");

    @BeforeEach
    void start() throws Exception {
        LibCrypto.Loading library = LibCrypto.load(Optional.empty());
        assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);
        key = Files.createDirectories(directory.resolve("keys")).resolve("default.key");
        Files.writeString(key, "c0ffee00".repeat(8));
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        cluster = Cluster.start();
        keeper = KeeperProcess.start("a", directory.resolve("a.keeper"));
        settings.putAll(keeper.settings());
        settings.put("seal.keys", directory.resolve("keys").toString());
        settings.put("seal.directory", directory.resolve("seal").toString());
        settings.put("fetch.deadline", "60s");
        cluster.launchAgent("a", settings);
        cluster.openAgent("b", Map.of());
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        if (cluster != null) {
            cluster.close();
        }
        if (keeper != null) {
            keeper.close();
        }
    }

    private Guests guests() {
        return new Guests(cluster, "a", "b");
    }

    private Path attach() {
        Path socket = directory.resolve("guest");
        guests().tryAttach("vm", """
                        {"socket": "%s", "sizeBytes": %d, "homes": ["b"], "localBytes": %d, \
                        "encrypted": true}""".formatted(socket, PAGES * PAGE, LOCAL_PAGES * PAGE))
                .expect(200);
        return socket;
    }

    private void detach() {
        var ended = guests().awaitEnded("vm");
        assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        assertEquals(0, ended.get("integrityFailures").asInt(), ended::toString);
        await("detached", Deadlines.LONG)
                .until(() -> cluster.client().attachments("vm").isEmpty());
        guests().forget("vm");
    }

    /** The second guest has pages of the first, of its own before and after the kill. The third opens all of them. */
    @Test
    void shouldGoOnWithItsGuestAndLeaveTheNextOneWhatItCanOpen() throws Exception {
        goOn(2, 1);
    }

    @Test
    @Tag("soak")
    @Timeout(900)
    void shouldGoOnWithManyGuestsOfOneSpaceThroughManyKills() throws Exception {
        goOn(Soak.part(6), 3);
    }

    private void goOn(int rounds, int kills) throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < rounds; round++) {
            Path socket = attach();
            PageVersions left;
            try (ShadowedRam ram = ShadowedRam.start(socket, PAGES, 2, random.nextLong())) {
                ram.forgetUserfaultfd();
                guests().awaitAttached("vm");
                for (int kill = 0; kill < kills; kill++) {
                    guests().awaitEvictions("vm", PAGES / 4 + random.nextInt(PAGES), random);
                    succeed(ram);
                    assertEquals(List.of(), ram.mismatches());
                }
                guests().awaitEvictions("vm", PAGES, random);
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
                left = ram.versions();
            }
            detach();
            compare(left);
        }
    }

    /** Kills the agent and starts it again. */
    private void succeed(ShadowedRam ram) throws CoordinatorException {
        String before = cluster.incarnation("a");
        cluster.process("a").process().kill();
        long killed = System.nanoTime();
        cluster.startAgent("a", settings);
        cluster.awaitActive("a", before);
        System.out.printf("the guest went on after %.1f s%n", ram.awaitProgress(killed) / 1e9);
    }

    /**
     * As the next guest reads the pages. Its own are zeros at last, so that the guest after it, whose shadow begins
     * with zeros, finds these.
     */
    private void compare(PageVersions left) throws Exception {
        Path socket = attach();
        try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests().awaitAttached("vm");
            for (int page = 0; page < PAGES; page++) {
                if (!left.isRemoved(page)) {
                    left.check(page, ram.read(page)).ifPresent(wrong -> {
                        throw new AssertionError(wrong);
                    });
                }
                ram.write(page, new byte[(int) PAGE]);
            }
        }
        detach();
    }

    /** Without the key the guest's threads wait; with it they go on. */
    @Test
    void shouldWaitForTheKeyOfItsGuest() throws Exception {
        Path socket = attach();
        try (ShadowedRam ram = ShadowedRam.start(socket, PAGES, 2, 5)) {
            ram.forgetUserfaultfd();
            guests().awaitAttached("vm");
            guests().awaitEvictions("vm", PAGES, new SplittableRandom(5));
            String before = cluster.incarnation("a");
            Path hidden = Files.move(key, directory.resolve("hidden.key"));
            cluster.process("a").process().kill();
            cluster.startAgent("a", settings);
            cluster.awaitActive("a", before);
            await("the reason in the log", Deadlines.LONG)
                    .until(() -> cluster.process("a").process().err().contains("its guest waits: "));
            assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
            Files.move(hidden, key);
            ram.awaitProgress(System.nanoTime());
            ram.stop();
            assertEquals(List.of(), ram.mismatches());
        }
        detach();
    }
}
