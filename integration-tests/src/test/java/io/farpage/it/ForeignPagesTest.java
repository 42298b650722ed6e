package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages of the memory file that are not what the agent put there. */
@NeedsUserfaultfd
@Tag("processes")
class ForeignPagesTest {
    private static final int PAGES = 256;
    private static final int PAGE = 4096;

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void start() {
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
        cluster.launchAgent("b", Map.of("pool.exported", "64MiB")).awaitListening();
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    /** A second mapping that is read puts a page of zeros into the file; write(2) does the same. */
    @Test
    void shouldReportPageThatWasPutIntoTheFileWhileItWasFetched() throws Exception {
        cluster.makeSpace("foreign", PAGES, PAGE, "b");
        for (int page = 0; page < 2; page++) {
            cluster.agent("a").putPage("foreign", page, Pages.of(1, page, PAGE)).expect(204);
        }
        Path socket = directory.resolve("socket");
        guests.attach("foreign", socket, (long) PAGES * PAGE, (long) PAGES * PAGE);
        try (JvmLog log = new JvmLog();
                PagedRam ram = PagedRam.handOver(socket, PAGES);
                Arena arena = Arena.ofConfined()) {
            guests.awaitAttached("foreign");
            cluster.process("b").process().stop();
            CompletableFuture<Void> load = CompletableFuture.runAsync(() -> ram.touch(0));
            try {
                await("the fetch", Duration.ofSeconds(30)).until(() -> count("fetchedFaults") > 0);
                assertEquals(0, ram.file().nextHole(0), "nothing is resident, and the file is written from here on");
                long zeros = arena.allocate(PAGE, 8).address();
                assertEquals(PAGE, FileIo.write(Errno.ofThread(), ram.file().fd(), zeros, PAGE));
            } finally {
                cluster.process("b").process().resume();
            }
            Deadlines.get("the page that b has", Deadlines.LONG.multipliedBy(2), load);
            assertEquals(1, count("foreignPages"));
            assertTrue(
                    log.lines().stream().anyMatch(line -> line.contains("page 0 is in the memory file")),
                    () -> log.lines().toString());
            assertArrayEquals(new byte[PAGE], ram.read(0), "what the file has");
            assertArrayEquals(Pages.of(1, 1, PAGE), ram.read(1));
            assertEquals(1, count("foreignPages"));
        } finally {
            guests.drop("foreign");
        }
    }

    private static long count(String name) {
        return guests.status("foreign").get(name).asLong();
    }
}
