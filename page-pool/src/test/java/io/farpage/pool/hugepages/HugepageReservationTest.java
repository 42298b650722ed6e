package io.farpage.pool.hugepages;

import static io.farpage.pool.hugepages.HugepageReservation.Outcome.ENOUGH;
import static io.farpage.pool.hugepages.HugepageReservation.Outcome.RAISED;
import static io.farpage.pool.hugepages.HugepageReservation.Outcome.TOO_FEW;
import static io.farpage.pool.hugepages.HugepageReservation.Outcome.UNSUPPORTED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Counts are compared on a machine made of plain files, as others may change the real kernel's at any time. */
class HugepageReservationTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // JUnit sets it before each test.
    private Path machine;

    @Test
    void shouldRaiseByWhatIsMissingAndPutItBack() throws IOException {
        Hugepages hugepages = machineWith(10, 4, 0);
        try (HugepageReservation reservation = HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 9, true)) {
            assertEquals(RAISED, reservation.outcome());
            assertEquals(5, reservation.borrowed());
            assertEquals(15, configured());
        }
        assertEquals(10, configured());
    }

    @Test
    void shouldChangeNothingIfEnoughAreFree() throws IOException {
        Hugepages hugepages = machineWith(10, 4, 0);
        try (HugepageReservation reservation = HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 4, true)) {
            assertEquals(ENOUGH, reservation.outcome());
            assertEquals(10, configured());
        }
        assertEquals(10, configured());
    }

    @Test
    void shouldNestInAnyOrder() throws IOException {
        Hugepages hugepages = machineWith(10, 4, 0);
        HugepageReservation first = HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 8, false);
        HugepageReservation second = HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 32, false);
        assertEquals(50, configured());
        first.close();
        first.close();
        assertEquals(42, configured());
        second.close();
        assertEquals(10, configured());
    }

    @Test
    void shouldLeaveWhatIsKeptUntilItIsGivenBack() throws IOException {
        Hugepages hugepages = machineWith(10, 4, 0);
        long kept;
        try (HugepageReservation reservation = HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 8, false)) {
            kept = reservation.keep();
        }
        assertEquals(8, kept);
        assertEquals(18, configured());
        HugepageReservation.giveBack(hugepages.folder(HugepageSize.TWO_MIB), kept);
        assertEquals(10, configured());
    }

    @Test
    void shouldAddToSurplusPagesThatAreInUse() throws IOException {
        // Three pages outlive the setting because somebody still uses them.
        Kernel kernel = new Kernel(0, 3, 100);
        HugepageCounts counts = new HugepageCounts(HugepageSize.TWO_MIB, 3, 0, 0, 3, 0);
        try (HugepageReservation reservation = HugepageReservation.raise(kernel, machine, counts, 8, false)) {
            assertEquals(RAISED, reservation.outcome());
            assertEquals(11, kernel.total());
            assertEquals(11, reservation.borrowed(), "those three are configured now, so they are put back, too");
        }
    }

    @Test
    void shouldReleaseHugepagesAndNameTheFixWhenTheyAreTooFew() throws IOException {
        Kernel kernel = new Kernel(10, 0, 12);
        HugepageCounts counts = new HugepageCounts(HugepageSize.ONE_GIB, 10, 0, 0, 0, 0);
        try (HugepageReservation reservation = HugepageReservation.raise(kernel, machine, counts, 8, true)) {
            assertEquals(TOO_FEW, reservation.outcome());
            assertFalse(reservation.isSufficient());
            assertEquals(0, reservation.borrowed());
            assertEquals(10, kernel.configured());
            assertEquals(
                    "of 8 more hugepages of 1 GiB the kernel could make 2: memory is short or fragmented; free some,"
                            + " run: echo 1 > /proc/sys/vm/compact_memory, or reserve at boot: hugepagesz=1G"
                            + " hugepages=18",
                    reservation.description());
        }
    }

    @Test
    void shouldReportASizeThatTheKernelDoesNotOffer() throws IOException {
        Hugepages hugepages = machineWith(10, 4, 0);
        try (HugepageReservation reservation = HugepageReservation.reserve(hugepages, HugepageSize.ONE_GIB, 1, true)) {
            assertEquals(UNSUPPORTED, reservation.outcome());
        }
        assertThrows(
                IllegalArgumentException.class,
                () -> HugepageReservation.reserve(hugepages, HugepageSize.TWO_MIB, 0, true));
    }

    @Test
    void shouldGetPagesFromTheRealKernel() {
        try (HugepageReservation reservation = HugepageReservation.additional(HugepageSize.TWO_MIB, 3)) {
            assumeTrue(reservation.isSufficient(), reservation.description());
            assertEquals(RAISED, reservation.outcome(), "the kernel was asked whether it has them");
            assertTrue(reservation.borrowed() >= 3, reservation.description());
        }
    }

    private long configured() throws IOException {
        return Long.parseLong(Files.readString(machine.resolve("hugepages-2048kB/nr_hugepages"))
                .strip());
    }

    private Hugepages machineWith(int total, int free, int surplus) throws IOException {
        Path folder = Files.createDirectories(machine.resolve("hugepages-2048kB"));
        Files.writeString(folder.resolve("nr_hugepages"), total + "\n");
        Files.writeString(folder.resolve("free_hugepages"), free + "\n");
        Files.writeString(folder.resolve("resv_hugepages"), "0\n");
        Files.writeString(folder.resolve("surplus_hugepages"), surplus + "\n");
        Files.writeString(folder.resolve("nr_overcommit_hugepages"), "0\n");
        return new Hugepages(machine, machine.resolve("meminfo"));
    }

    /** Making the real one run out of memory would be felt by everybody on the machine. */
    private static final class Kernel implements HugepageControl {
        private final long most;
        private long configured;
        private long surplus;

        Kernel(long configured, long surplus, long most) {
            this.configured = configured;
            this.surplus = surplus;
            this.most = most;
        }

        @Override
        public long total() {
            return configured + surplus;
        }

        @Override
        public long configured() {
            return configured;
        }

        @Override
        public void configure(long wanted) {
            surplus -= Math.clamp(wanted - configured, 0, surplus);
            configured = Math.min(wanted, most);
        }

        @Override
        public void close() {}
    }
}
