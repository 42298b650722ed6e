package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * A space's memory outlives its guest: in a file, at its homes, and as what the next guest is given ahead of asking.
 */
@Tag("portable")
@ExtendWith(TwoNodes.class)
class SpaceImageTest {
    private static final int PAGES = 300;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldSaveToAFileAndLoadFromIt(Cluster cluster) throws Exception {
        cluster.makeSpace("image", PAGES, 4096, "b");
        try {
            for (int page = 0; page < PAGES; page += 3) {
                cluster.agent("a")
                        .putPage("image", page, Pages.of(7, page, 4096))
                        .expect(204);
            }
            Path file = directory.resolve("image");
            run(cluster, "save", "image", file).done();
            byte[] saved = Files.readAllBytes(file);
            assertEquals(PAGES * 4096, saved.length);
            for (int page = 0; page < PAGES; page++) {
                byte[] expected = page % 3 == 0 ? Pages.of(7, page, 4096) : new byte[4096];
                assertArrayEquals(expected, Arrays.copyOfRange(saved, page * 4096, (page + 1) * 4096));
            }
            for (int page = 0; page < PAGES; page++) {
                cluster.agent("a")
                        .putPage("image", page, Pages.of(8, page, 4096))
                        .expect(204);
            }
            run(cluster, "load", "image", file).done();
            for (int page = 0; page < PAGES; page++) {
                byte[] expected = page % 3 == 0 ? Pages.of(7, page, 4096) : new byte[4096];
                assertArrayEquals(
                        expected,
                        cluster.agent("a").page("image", page).expect(200).body());
            }
        } finally {
            cluster.client().deleteSpace("image");
        }
    }

    @Test
    void shouldRefuseAFileOfAnotherSizeAndASpaceThatAGuestUses(Cluster cluster) throws Exception {
        cluster.makeSpace("sizes", 4, 4096, "b");
        Guests guests = new Guests(cluster, "a", "b");
        try {
            refused(cluster, "load", write("short", 3 * 4096), "the file ends in page 3");
            refused(cluster, "load", write("long", 4 * 4096 + 1), "the file is longer than space 'sizes'");
            guests.attach("sizes", directory.resolve("socket"), 4 * 4096, 1 << 20);
            refused(cluster, "load", write("right", 4 * 4096), "is the memory of a guest");
            Path file = directory.resolve("unsaved");
            refused(cluster, "save", file, "is the memory of a guest");
            assertFalse(Files.exists(file));
        } finally {
            guests.drop("sizes");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldFetchAheadWhatTheLastGuestHadAndTellHowWarmItWas(Cluster cluster) {
        Guests guests = new Guests(cluster, "a", "b");
        Path socket = directory.resolve("socket");
        guests.attach("again", socket, PAGES * 4096L, 1 << 20);
        try {
            try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
                for (int page = 0; page < 200; page += 2) {
                    ram.write(page, Pages.of(9, page, 4096));
                }
                await("heat at the coordinator", Deadlines.SHORT)
                        .until(() -> cluster.client()
                                        .call(SpaceOperations.PAGE.at("again", 0))
                                        .heat()
                                > 0);
            }
            guests.awaitEnded("again");
            guests.attach("again", socket, PAGES * 4096L, 4 << 20);
            try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
                JsonNode ready = await("100 pages here before any was asked for", Deadlines.SHORT)
                        .until(
                                () -> guests.status("again"),
                                status -> status.get("residentPages").asInt() == 100);
                assertEquals(0, ready.get("faults").asInt(), ready.toString());
                for (int page = 0; page < 200; page += 2) {
                    assertArrayEquals(Pages.of(9, page, 4096), ram.read(page));
                }
                assertEquals(0, guests.status("again").get("fetchedFaults").asInt());
            }
            guests.awaitEnded("again");
        } finally {
            guests.drop("again");
        }
    }

    /** The map of present pages is with the pages, so any node knows what the last guest had. */
    @NeedsUserfaultfd
    @Test
    void shouldFetchOnAnotherNodeWhatTheLastGuestHadAndNoPageOfZeros(Cluster cluster) {
        Guests first = new Guests(cluster, "a", "b");
        Path socket = directory.resolve("socket");
        first.attach("moved", socket, PAGES * 4096L, 1 << 20);
        Guests next = new Guests(cluster, "b", "b");
        try {
            try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
                for (int page = 0; page < 200; page += 2) {
                    ram.write(page, Pages.of(9, page, 4096));
                }
            }
            first.awaitEnded("moved");
            next.attach("moved", directory.resolve("next"), PAGES * 4096L, 4 << 20);
            try (PagedRam ram = PagedRam.handOver(directory.resolve("next"), PAGES)) {
                await("100 pages there before any was asked for", Deadlines.SHORT)
                        .until(
                                () -> next.status("moved"),
                                status -> status.get("residentPages").asInt() == 100);
                for (int page = 0; page < PAGES; page++) {
                    byte[] expected = page < 200 && page % 2 == 0 ? Pages.of(9, page, 4096) : new byte[4096];
                    assertArrayEquals(expected, ram.read(page));
                }
                JsonNode status = next.status("moved");
                assertEquals(0, status.get("fetchedFaults").asInt(), status.toString());
            }
            next.awaitEnded("moved");
        } finally {
            next.drop("moved");
        }
    }

    private Path write(String name, int bytes) throws IOException {
        return Files.write(directory.resolve(name), new byte[bytes]);
    }

    private static void refused(Cluster cluster, String command, Path file, String said) {
        Command refused = run(cluster, command, "sizes", file);
        assertEquals(1, refused.code());
        assertTrue(refused.err().contains(said), refused.err());
    }

    private static Command run(Cluster cluster, String command, String space, Path file) {
        return Command.agent(
                command, "--agent=" + cluster.agent("a").rest().base(), "--space=" + space, "--file=" + file);
    }
}
