package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** How many faults a guest has that goes through its memory in order. */
@ExtendWith(TwoNodes.class)
@NeedsUserfaultfd
class ReadAheadTest {
    private static final int PAGES = 512;
    private static final int PAGE = 4096;
    private static final int APART = 16;

    /**
     * Windows of 1, 4, 8, 16, 32 and then 32 pages reach the end with 20; a stream that starts anew at each page has
     * four times as many.
     */
    private static final int FEW = 30;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldReachOverPagesThatAreHereAlready(Cluster cluster) {
        Guests guests = new Guests(cluster, "a", "b");
        try {
            assertTrue(faultsOfGoingThrough(guests, 0) < FEW, "memory that was never written");
            guests.forget("scanned");
            assertTrue(faultsOfGoingThrough(guests, 1) < FEW, "memory that another node has");
        } finally {
            guests.drop("scanned");
        }
    }

    /** Touches a page here and there, the last first, reads all in order, and leaves its mark in each. */
    private int faultsOfGoingThrough(Guests guests, int generation) {
        guests.tryAttach("scanned", """
                {"socket": "%s", "sizeBytes": %d, \
                "homes": ["b"], "replay": false}""".formatted(socket(), PAGES * PAGE)).expect(200);
        int faults;
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            guests.awaitAttached("scanned");
            for (int page = PAGES - APART / 2; page > 0; page -= APART) {
                assertArrayEquals(marked(page, generation), ram.read(page));
            }
            int before = faults(guests);
            for (int page = 0; page < PAGES; page++) {
                assertArrayEquals(marked(page, generation), ram.read(page), "page " + page);
            }
            faults = faults(guests) - before;
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, marked(page, generation + 1));
            }
        }
        guests.awaitEnded("scanned");
        return faults;
    }

    private static int faults(Guests guests) {
        return guests.status("scanned").get("faults").asInt();
    }

    private static byte[] marked(int page, int generation) {
        byte[] bytes = new byte[PAGE];
        Arrays.fill(bytes, (byte) (generation * (1 + page % 101)));
        return bytes;
    }

    private Path socket() {
        return directory.resolve("vmm");
    }
}
