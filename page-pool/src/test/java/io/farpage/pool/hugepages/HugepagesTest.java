package io.farpage.pool.hugepages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HugepagesTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // JUnit sets it before each test.
    private Path machine;

    @Test
    void shouldReadTheCountsOfTheKernel() throws IOException {
        Hugepages hugepages = machineWith("hugepages-2048kB", 20, 12, 5, 3);
        HugepageCounts counts = hugepages.counts(HugepageSize.TWO_MIB).orElseThrow();
        assertEquals(new HugepageCounts(HugepageSize.TWO_MIB, 20, 12, 5, 3, 0), counts);
        assertEquals(7, counts.available());
        assertEquals(17, counts.configured());
        assertEquals(Optional.of(2L << 20), hugepages.defaultBytes());
    }

    @Test
    void shouldHaveNoCountsOfASizeThatIsNotOffered() throws IOException {
        assertEquals(
                Optional.empty(), machineWith("hugepages-2048kB", 1, 1, 0, 0).counts(HugepageSize.ONE_GIB));
        Path nowhere = machine.resolve("nowhere");
        assertEquals(Optional.empty(), new Hugepages(nowhere, nowhere).counts(HugepageSize.TWO_MIB));
        assertEquals(Optional.empty(), new Hugepages(nowhere, nowhere).defaultBytes());
    }

    @Test
    void shouldNameTheCommandThatAddsWhatIsMissing() throws IOException {
        Hugepages hugepages = machineWith("hugepages-2048kB", 20, 12, 5, 3);
        // 7 of the 20 pages are available, so 512 take 505 more.
        assertEquals("echo 525 > /proc/sys/vm/nr_hugepages", hugepages.reserveCommand(HugepageSize.TWO_MIB, 512));
        assertEquals("echo 17 > /proc/sys/vm/nr_hugepages", hugepages.reserveCommand(HugepageSize.TWO_MIB, 7));
        assertTrue(hugepages
                .reserveCommand(HugepageSize.ONE_GIB, 2)
                .matches("echo 2 > .*/hugepages-1048576kB/nr_hugepages"));
    }

    private Hugepages machineWith(String size, int total, int free, int reserved, int surplus) throws IOException {
        Path folder = Files.createDirectories(machine.resolve("hugepages").resolve(size));
        Files.writeString(folder.resolve("nr_hugepages"), total + "\n");
        Files.writeString(folder.resolve("free_hugepages"), free + "\n");
        Files.writeString(folder.resolve("resv_hugepages"), reserved + "\n");
        Files.writeString(folder.resolve("surplus_hugepages"), surplus + "\n");
        Files.writeString(folder.resolve("nr_overcommit_hugepages"), "0\n");
        Path meminfo = machine.resolve("meminfo");
        Files.writeString(meminfo, "MemTotal:       24683728 kB\nHugepagesize:       2048 kB\n");
        return new Hugepages(machine.resolve("hugepages"), meminfo);
    }
}
