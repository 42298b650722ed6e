package io.farpage.cli.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.cli.local.HostFacts.Obstacle;
import io.farpage.linux.MemoryHeadroom;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The rules by which {@code up} refuses a host, on hosts that are made up. */
class HostFactsTest {
    private static final long MIB = 1L << 20;

    /** Three pools of 146 MiB, 73 hugepages each, and four processes of 128 MiB. */
    private static final Plan THREE = new Plan(Path.of("/state"), 3, 128 * MIB, OptionalLong.empty());

    private static final long POOLS = 3 * 146 * MIB;
    private static final long PROCESSES = 4 * 128 * MIB;

    private static HostFacts host(long memory, long hugepages) {
        return new HostFacts(
                Optional.empty(),
                7400,
                Optional.empty(),
                Optional.of(new MemoryHeadroom(memory, "MemAvailable of /proc/meminfo")),
                hugepages,
                Optional.empty(),
                16 * MIB);
    }

    @Test
    void shouldFindNoObstacleOnAHostWithJustEnough() {
        HostFacts host = host(POOLS + PROCESSES, 0);
        assertEquals(List.of(), host.obstacles(THREE));
        assertEquals(219, host.hugepagesToReserve(THREE));
    }

    @Test
    void shouldNameBothFiguresWhenMemoryIsShortByABit() {
        List<Obstacle> found = host(POOLS + PROCESSES - 1, 0).obstacles(THREE);
        assertEquals(1, found.size(), found.toString());
        String text = found.getFirst().toString();
        assertTrue(text.contains("needs 950 MiB"), text);
        assertTrue(text.contains("949 MiB are left (MemAvailable of /proc/meminfo)"), text);
        assertTrue(text.endsWith("; fix: give a smaller --pool or --local, or end other programs"), text);
    }

    @Test
    void shouldCountWhatIsResidentOfAGuestAndItsProcess() {
        Plan guest = new Plan(Path.of("/state"), 3, 128 * MIB, OptionalLong.of(64 * MIB));
        long needed = POOLS + PROCESSES + 128 * MIB + 16 * MIB;
        assertEquals(List.of(), host(needed, 0).obstacles(guest));
        assertEquals(1, host(needed - 1, 0).obstacles(guest).size());
    }

    @Test
    void shouldPutWholePoolsIntoFreeHugepagesWhenOtherMemoryIsShort() {
        HostFacts all = host(PROCESSES, 219);
        assertEquals(List.of(), all.obstacles(THREE));
        assertEquals(0, all.hugepagesToReserve(THREE));
        HostFacts two = host(PROCESSES + 146 * MIB, 218);
        assertEquals(List.of(), two.obstacles(THREE));
        assertEquals(73, two.hugepagesToReserve(THREE));
        assertEquals(1, host(PROCESSES, 218).obstacles(THREE).size(), "the third pool has one hugepage too few");
    }

    @Test
    void shouldReserveHugepagesOfItsOwnWhileMemoryHasRoomForThem() {
        assertEquals(219, host(POOLS + PROCESSES, 500).hugepagesToReserve(THREE));
    }

    @Test
    void shouldGoOnWhenTheKernelDoesNotTellItsMemory() {
        HostFacts host =
                new HostFacts(Optional.empty(), 0, Optional.empty(), Optional.empty(), 0, Optional.empty(), 16 * MIB);
        assertEquals(List.of(), host.obstacles(THREE));
        assertEquals(219, host.hugepagesToReserve(THREE));
    }

    @Test
    void shouldAskForRoomInTheFileSystemOfTheFolder() {
        HostFacts full = new HostFacts(
                Optional.empty(), 7400, Optional.empty(), Optional.empty(), 0, Optional.empty(), 16 * MIB - 1);
        String text = full.obstacles(THREE).getFirst().toString();
        assertTrue(text.contains("/state needs 16 MiB"), text);
        assertTrue(text.contains("has 15 MiB free"), text);
    }

    @Test
    void shouldNameEveryObstacleAtOnce() {
        HostFacts host = new HostFacts(
                Optional.of(new Obstacle("no userfaultfd", "a")),
                0,
                Optional.of(new Obstacle("no port", "b")),
                Optional.of(new MemoryHeadroom(0, "memory.max = 1")),
                0,
                Optional.of(new Obstacle("no folder", "c")),
                0);
        List<String> found =
                host.obstacles(THREE).stream().map(Obstacle::toString).toList();
        assertEquals(4, found.size(), found.toString());
        assertEquals("no userfaultfd; fix: a", found.get(0));
        assertEquals("no port; fix: b", found.get(1));
        assertTrue(found.get(2).contains("0 MiB are left (memory.max = 1)"), found.get(2));
        assertEquals("no folder; fix: c", found.get(3));
    }
}
