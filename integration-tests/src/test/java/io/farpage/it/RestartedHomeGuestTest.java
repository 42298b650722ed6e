package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.linux.crypto.LibCrypto;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A guest whose pages are taken out to a home that is killed and started again, with a keeper: it never sees a wrong
 * page.
 */
@NeedsUserfaultfd
@Tag("soak")
class RestartedHomeGuestTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 384;
    private static final int LOCAL_PAGES = 64;
    private static final int KILLS = 4;

    @TempDir
    private Path directory = Path.of("");

    private Map<String, String> settings() throws Exception {
        Path keys = Files.createDirectories(directory.resolve("keys"));
        Path key = Files.writeString(keys.resolve("default.key"), "c0ffee00".repeat(8));
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        return new HashMap<>(Map.of(
                "fetch.deadline",
                "60s",
                "seal.keys",
                keys.toString(),
                "seal.directory",
                directory.resolve("seal").toString()));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldShowNoWrongPageWhenTheHomeIsKilledDuringWriteBacks(boolean encrypted) throws Exception {
        if (encrypted) {
            LibCrypto.Loading library = LibCrypto.load(Optional.empty());
            assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);
        }
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        Path socket = directory.resolve("guest");
        Map<String, String> settings = settings();
        try (Cluster cluster = Cluster.start();
                KeeperProcess keeper = KeeperProcess.start("b", directory.resolve("b.keeper"))) {
            Map<String, String> home = new HashMap<>(settings);
            home.putAll(keeper.settings());
            cluster.openAgent("a", settings);
            cluster.launchAgent("b", home);
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            long localBytes = (long) LOCAL_PAGES * PAGE;
            guests.tryAttach("vm", """
                            {"socket": "%s", "sizeBytes": %d, "homes": ["b"], "localBytes": %d, \
                            "encrypted": %s}""".formatted(socket, (long) PAGES * PAGE, localBytes, encrypted))
                    .expect(200);
            try (ShadowedRam ram = ShadowedRam.start(socket, PAGES, 2, random.nextLong())) {
                for (int kill = 0; kill < KILLS; kill++) {
                    int before = evictions(guests);
                    await("evictions after kill " + kill, Deadlines.LONG.multipliedBy(2))
                            .pollInterval(Duration.ofMillis(1 + random.nextInt(15)))
                            .until(() -> evictions(guests) > before + PAGES / 4 + random.nextInt(PAGES));
                    String incarnation = cluster.incarnation("b");
                    cluster.process("b").process().kill();
                    cluster.launchAgent("b", home);
                    cluster.awaitActive("b", incarnation);
                    assertEquals(List.of(), ram.mismatches());
                }
                int before = evictions(guests);
                await("the guest goes on", Deadlines.LONG.multipliedBy(2))
                        .until(() -> evictions(guests) > before + PAGES);
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
            }
            var ended = guests.awaitEnded("vm");
            assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
            if (encrypted) {
                assertEquals(0, ended.get("integrityFailures").asInt());
            }
            assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        }
    }

    private static int evictions(Guests guests) {
        return guests.status("vm").get("evictions").asInt();
    }
}
