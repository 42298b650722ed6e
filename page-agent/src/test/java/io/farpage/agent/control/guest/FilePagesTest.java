package io.farpage.agent.control.guest;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.Memory;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.PresentPages;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageReservation.Outcome;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which pages files say that they have. */
class FilePagesTest {
    private static final int PAGES = 8;
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;

    /**
     * Touches pages 1, 2 and 5 to 7 of a file, punches out page 6, and asks twice for those from page {@code from} on.
     */
    private static void check(MemoryFile file, int pageBytes, int from) {
        assertEquals(Optional.empty(), FilePages.obstacle(file.fd(), pageBytes));
        touch(file, pageBytes, 1, 2, 5, 6, 7);
        assertEquals(0, file.punchHole(6L * pageBytes, pageBytes));
        for (int round = 0; round < 2; round++) {
            List<Integer> found = new ArrayList<>();
            assertEquals(Optional.empty(), FilePages.ask(file.fd(), (long) from * pageBytes, pageBytes, pages -> {
                find(pages, pageBytes, found);
                found.replaceAll(page -> page + from);
                return Optional.empty();
            }));
            assertEquals(
                    List.of(1, 2, 5, 7).stream().filter(page -> page >= from).toList(), found);
        }
        file.close();
    }

    private static void find(PresentPages pages, int pageBytes, List<Integer> to) {
        for (long at = pages.nextData(0); at >= 0; at = pages.nextData(at)) {
            for (long hole = pages.nextHole(at); at < hole; at += pageBytes) {
                to.add((int) (at / pageBytes));
            }
        }
    }

    @SuppressWarnings("restricted") // SAFETY: the range has just been mapped, and is unmapped afterwards.
    private static void touch(MemoryFile file, int pageBytes, int... pages) {
        long bytes = (long) PAGES * pageBytes;
        long address = SharedMemory.map(file.fd(), bytes).value();
        MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(bytes);
        for (int page : pages) {
            memory.set(JAVA_BYTE, (long) page * pageBytes, (byte) 1);
        }
        Memory.munmap(address, bytes);
    }

    @Test
    void shouldFindPagesOfFile() {
        check(MemoryFile.create("small", (long) PAGES * SMALL), SMALL, 0);
        check(MemoryFile.create("small", (long) PAGES * SMALL), SMALL, 2);
    }

    @Test
    void shouldFindLargePagesThatNoProcessHasMapped() {
        HugepageReservation reservation = HugepageReservation.additional(HugepageSize.TWO_MIB, PAGES);
        try {
            assumeTrue(reservation.outcome() == Outcome.RAISED, reservation::description);
            check(MemoryFile.createHuge("large", (long) PAGES * LARGE), LARGE, 0);
            check(MemoryFile.createHuge("large", (long) PAGES * LARGE), LARGE, 2);
        } finally {
            reservation.close();
        }
    }

    @Test
    void shouldSayThatPagesOfFileHaveAnotherSize() {
        try (MemoryFile small = MemoryFile.create("small", LARGE);
                MemoryFile large = MemoryFile.createHuge("large", LARGE)) {
            assertEquals(
                    Optional.of("its pages have 2097152 bytes, and those of its memory file 4096"),
                    FilePages.obstacle(small.fd(), LARGE));
            assertEquals(
                    Optional.of("its pages have 4096 bytes, and those of its memory file 2097152"),
                    FilePages.obstacle(large.fd(), SMALL));
        }
    }
}
