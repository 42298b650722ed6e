package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A VMM in C that reads its disk into guest RAM by direct I/O, without the preloaded library; every block is checked
 * word by word.
 */
class DirectIoTest {
    private static final long MIB = 1 << 20;
    private static final long MEMORY = 64 * MIB;
    private static final long LOCAL = 6 * MIB;
    private static final int LOCAL_PAGES = (int) (LOCAL / 4096);
    private static final int NO_DIRECT_IO = 4;
    private static final int RUN = 64;

    @TempDir
    private static Path built = Path.of("");

    private static Optional<Path> program = Optional.empty();

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @SuppressWarnings("NullAway.Init")
    private static Guests strict;

    /** Blocks that the VMM has read with O_DIRECT, in all cases so far. */
    private static long direct;

    @TempDir
    private Path directory = Path.of("");

    private String space = "";
    /** Whether a status named what pins the memory while the last VMM ran. */
    private boolean hasNamedPin;

    @BeforeAll
    static void start() {
        program = Optional.of(SharedRam.compileDirect(built));
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB", "guest.pin_linger", "100ms"));
        cluster.openAgent("b", Map.of("pool.exported", "256MiB", "pool.staging", "32MiB"));
        cluster.openAgent("c", Map.of("pool.staging", "32MiB", "guest.pins", "refuse"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
        strict = new Guests(cluster, "c", "b");
    }

    @AfterAll
    static void stopNodes() {
        System.out.println(direct + " blocks were read with O_DIRECT in all cases");
        Optional.ofNullable(cluster).ifPresent(Cluster::close);
    }

    /** Pages that are read stay resident, and the status names the descriptor that pins them. */
    @ParameterizedTest
    @CsvSource({"sync, 100", "libaio, 100", "io_uring, 100", "registered, 50", "hidden, 2000"})
    void shouldEvictNothingThatWasWrittenWhileADescriptorMayPinIt(String mode, int runs) {
        JsonNode status = run(mode, Integer.toString(runs), runs);
        assertTrue(hasNamedPin, () -> "no status named the descriptor while the VMM ran; the last one is " + status);
        assertTrue(status.get("peakResidentPages").asInt() > LOCAL_PAGES, status.toString());
    }

    @Test
    void shouldKeepToTheLimitWhileNoDescriptorHasDirectIo() {
        JsonNode status = run("buffered", "400", 400);
        assertFalse(status.get("pins").get("held").asBoolean(), status.toString());
        assertTrue(status.get("pins").get("inspections").asInt() > 10, status.toString());
        assertTrue(status.get("evictions").asInt() > LOCAL_PAGES, status.toString());
        assertTrue(status.get("peakResidentPages").asInt() <= LOCAL_PAGES, status.toString());
    }

    /** Pages are taken out in between, and none that was pinned when it was protected. */
    @ParameterizedTest
    @CsvSource({"gaps, 120", "reopen, 150", "later, 200", "bursts, 1000"})
    void shouldLoseNoBlockWhenDescriptorsComeAndGo(String mode, int runs) {
        run(mode, Integer.toString(runs), runs);
    }

    /**
     * More than a million blocks that are read with O_DIRECT. {@code -Dfarpage.soak.percent=1000}: ten times as many.
     */
    @ParameterizedTest
    @Tag("soak")
    @CsvSource({
        "sync, 1000, 1000",
        "libaio, 1000, 1000",
        "io_uring, 1000, 1000",
        "reopen, 1000, 1000",
        "bursts, 12000, 12000",
        "gaps, 1000, 1000",
        "later, 4000, 1900",
        "buffered, 4000, 0"
    })
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    void shouldLoseNoBlockOfManyForLong(String mode, int runs, int leastDirect) {
        long before = direct;
        run(mode, Integer.toString(Soak.part(runs)), Soak.part(runs));
        assertTrue(
                direct - before >= (long) Soak.part(leastDirect) * RUN,
                () -> direct - before + " blocks with O_DIRECT");
    }

    @Test
    void shouldRefuseMemoryThatMayBePinnedIfToldTo() {
        space = "strict";
        strict.attach(space, socket(), MEMORY, LOCAL);
        try (ChildJvm _ = launch("sync", "10")) {
            await("the refusal", Duration.ofSeconds(20))
                    .until(() -> strict.status(space).get("detail").asString().contains("is open for direct I/O"));
            assertTrue(strict.status(space).get("detail").asString().contains("set guest.pins to hold"));
            assertEquals("waiting", strict.status(space).get("state").asString());
        } finally {
            strict.drop(space);
        }
    }

    private JsonNode run(String mode, String limit, int leastRuns) {
        space = "direct-" + mode.replace('_', '-');
        guests.attach(space, socket(), MEMORY, LOCAL);
        try (ChildJvm process = launch(mode, limit)) {
            hasNamedPin = false;
            await("the end of the reads", Duration.ofMinutes(30)).until(() -> {
                hasNamedPin |= namesPin(guests.status(space).get("pins"));
                return !process.isAlive();
            });
            assumeTrue(process.awaitEnd() != NO_DIRECT_IO, "the file system of " + directory + " has no direct I/O");
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            JsonNode result = new JsonMapper().readTree(process.out());
            assertEquals(0, result.get("differences").asInt(), process.out());
            assertTrue(result.get("blocks").asInt() >= leastRuns * RUN, process.out());
            direct += result.get("direct").asLong();
            JsonNode status = guests.awaitEnded(space);
            System.out.println(mode + ": " + process.out().strip() + ", " + status.get("evictions") + " evictions, "
                    + status.get("pins"));
            return status;
        }
    }

    /** An inspection after the VMM has ended finds no process, and says that. */
    private static boolean namesPin(JsonNode pins) {
        return pins.get("held").asBoolean()
                && Stream.of("O_DIRECT", "registered buffers", "pinned (VmPin)")
                        .anyMatch(pins.get("detail").asString()::contains);
    }

    private ChildJvm launch(String mode, String limit) {
        List<String> command = List.of(program.orElseThrow().toString(), socket().toString(), "blocks", mode, limit);
        return ChildJvm.launch("direct-ram", command, Map.of(), directory);
    }

    @AfterEach
    void drop() {
        guests.drop(space);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
