package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** VMMs whose RAM an agent serves from another node's pool. */
@ExtendWith(TwoNodes.class)
@NeedsUserfaultfd
class RemoteGuestTest {
    private static final int PAGES = 512;
    private static final int LOCAL_PAGES = 128;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    @TempDir
    private Path directory = Path.of("");

    @ParameterizedTest
    @Tag("processes")
    @CsvSource({"random, 1, 32, 1", "random, 2, 1, 1", "random, 2, 32, 2", "sequential, 1, 32, 1", "stride, 2, 8, 2"})
    void shouldKeepAGuestsPagesRightWithAQuarterOfThemHere(
            String pattern, int vcpus, int prefetch, int pagers, Cluster cluster) {
        assumeKvm();
        String space = "guest-" + pattern + vcpus;
        attach(cluster, space, ", \"localBytes\": %d, \"prefetchPages\": %d".formatted(LOCAL_PAGES * 4096, prefetch));
        try (ChildJvm guest =
                startGuest("--pattern=" + pattern, "--vcpus=" + vcpus, "--words=8", "--pagers=" + pagers)) {
            assertEquals(0, guest.awaitEnd(), () -> guest.out() + guest.err());
            JsonNode result = new JsonMapper().readTree(guest.out());
            assertEquals(5 * PAGES, result.get("pagesTouched").asInt());
            assertEquals(0, result.get("mismatches").asInt());

            JsonNode status = awaitEnded(cluster, space);
            assertTrue(status.get("peakResidentPages").asInt() <= LOCAL_PAGES, status.toString());
            assertTrue(status.get("evictions").asInt() >= 2 * (PAGES - LOCAL_PAGES), status.toString());
            assertTrue(status.get("faults").asInt() > 0, status.toString());
        } finally {
            drop(cluster, space);
        }
    }

    @Test
    @Tag("processes")
    void shouldServeAGuestThatHasNoMemfd(Cluster cluster) {
        assumeKvm();
        // Without a memfd nothing can be taken out, so a limit that would stop the guest for good does not hold.
        attach(cluster, "anonymous", ", \"localBytes\": %d".formatted(LOCAL_PAGES * 4096));
        try (ChildJvm guest = startGuest("--backing=anonymous")) {
            assertEquals(0, guest.awaitEnd(), () -> guest.out() + guest.err());
            JsonNode status = awaitEnded(cluster, "anonymous");
            assertEquals(false, status.get("evictable").asBoolean());
            assertEquals(0, status.get("evictions").asInt());
        } finally {
            drop(cluster, "anonymous");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void shouldServeAnUnmodifiedProcessThroughThePreloadedLibrary(int pagers, Cluster cluster) {
        SharedRam program = SharedRam.compile(directory);
        int local = Math.max(LOCAL_PAGES, 72 * pagers);
        attach(cluster, "preloaded", ", \"localBytes\": %d".formatted(local * 4096));
        try (ChildJvm process = ChildJvm.launch(
                "shared-ram",
                program.preloaded(SharedRam.QEMUS_NAME, PAGES, "zeros", "rounds", "unmap"),
                Map.of("FARPAGE_SOCKET", socket().toString(), "FARPAGE_PAGERS", Integer.toString(pagers)),
                directory)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("zeros\nrounds\nunmap\n", process.out());
            JsonNode status = awaitEnded(cluster, "preloaded");
            assertEquals(pagers, status.get("pagers").size(), status.toString());
            assertTrue(status.get("peakResidentPages").asInt() <= local, status.toString());
            assertTrue(status.get("evictions").asInt() > 0, status.toString());
        } finally {
            drop(cluster, "preloaded");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"balloon", "remove"})
    void shouldGiveZerosForPagesThatTheGuestGaveBack(String way, Cluster cluster) {
        SharedRam program = SharedRam.compile(directory);
        attach(cluster, way, ", \"localBytes\": %d".formatted(LOCAL_PAGES * 4096));
        try (ChildJvm process = ChildJvm.launch(
                "shared-ram",
                program.preloaded(SharedRam.QEMUS_NAME, PAGES, "rounds", way, "zeros", "rounds"),
                Map.of("FARPAGE_SOCKET", socket().toString()),
                directory)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            JsonNode status = awaitEnded(cluster, way);
            assertTrue(status.get("removedPages").asInt() >= PAGES, status.toString());
        } finally {
            drop(cluster, way);
        }
    }

    private static void assumeKvm() {
        Path kvm = Path.of("/dev/kvm");
        assumeTrue(Files.isReadable(kvm) && Files.isWritable(kvm), "/dev/kvm cannot be opened by this user");
    }

    private void attach(Cluster cluster, String space, String more) {
        String body =
                "{\"socket\": \"%s\", \"sizeBytes\": %d, \"homes\": [\"b\"]%s}".formatted(socket(), PAGES * 4096, more);
        cluster.agent("a")
                .rest()
                .sendJson("PUT", "/api/v1/spaces/" + space + "/guest", body)
                .expect(200);
    }

    private ChildJvm startGuest(String... more) {
        List<String> arguments =
                new java.util.ArrayList<>(List.of("guest-vm", "--socket=" + socket(), "--memory=" + PAGES * 4096));
        arguments.addAll(List.of(more));
        return ChildJvm.start("guest-vm", Main.class, arguments);
    }

    private static JsonNode awaitEnded(Cluster cluster, String space) {
        return await("the guest's end", TIMEOUT)
                .until(
                        () -> cluster.agent("a")
                                .rest()
                                .get("/api/v1/spaces/" + space)
                                .expect(200)
                                .json(),
                        status -> status.get("state").asString().equals("ended"));
    }

    /** So that the next has room, whether this test has failed or not. */
    private static void drop(Cluster cluster, String space) {
        cluster.agent("a").rest().send("DELETE", "/api/v1/spaces/" + space + "/guest", "", new byte[0]);
        cluster.coordinator().rest().send("DELETE", "/api/v1/spaces/" + space + "?force=true", "", new byte[0]);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
