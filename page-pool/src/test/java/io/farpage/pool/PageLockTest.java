package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.Smaps;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class PageLockTest {
    private static final long BODY = 6 << 20;
    private static final PoolConfig BASE_PAGES =
            PoolConfig.of("node-a", 1, 4 << 20, 2 << 20).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);

    @Test
    void shouldLockHeaderAndFrames() throws PoolException {
        try (PagePool pool = PagePool.open(BASE_PAGES)) {
            assumeTrue(pool.steps().isEmpty(), () -> pool.steps().toString());
            assertTrue(pool.statistics().locked());
            assertEquals(4096, Smaps.lockedBytes(pool.headerAddress(), 4096));
            assertEquals(BODY, Smaps.lockedBytes(pool.exportedAddress(), BODY));
        }
    }

    @Test
    void shouldRefuseAPoolThatMustBeLockedAndCannotBe() throws Exception {
        List<String> lines = ChildJvm.run(ChildJvm.LITTLE_LOCKABLE, Child.class, "REQUIRE", "OFF");
        assertTrue(lines.contains("refused, needed 6295552, limit 65536, left mapped: 0"), lines::toString);
        assertTrue(
                lines.contains("mlock of 6295552 bytes: ENOMEM; RLIMIT_MEMLOCK is 65536, at least 6295552 is needed; "
                        + "fix: ulimit -l 6148, or LimitMEMLOCK=infinity in the unit, or CAP_IPC_LOCK"),
                lines::toString);
    }

    @Test
    void shouldGoOnUnlockedIfLockingIsPreferred() throws Exception {
        List<String> lines = ChildJvm.run(ChildJvm.LITTLE_LOCKABLE, Child.class, "PREFER", "OFF");
        assertTrue(lines.contains("opened BASE, locked false, steps [NOT_LOCKED]"), lines::toString);
    }

    @Test
    void shouldCountHugetlbPagesAsLockedButWarnOfThePinningLimit() throws Exception {
        try (HugepageReservation reserved = HugepageReservation.additional(HugepageSize.TWO_MIB, 4)) {
            assumeTrue(reserved.isSufficient(), reserved.description());
            List<String> lines = ChildJvm.run(ChildJvm.LITTLE_LOCKABLE, Child.class, "REQUIRE", "REQUIRE");
            assumeTrue(!lines.contains("others took the pages"), "others took the reserved pages");
            assertTrue(lines.contains("opened HUGETLB_2M, locked true, steps [PINNING_LIMITED]"), lines::toString);
        }
    }

    static final class Child {
        private Child() {}

        public static void main(String[] args) throws Exception {
            PoolConfig config = BASE_PAGES
                    .withLock(LockPolicy.valueOf(args[0]))
                    .withHugepages(HugepagePolicy.valueOf(args[1]), HugepageSize.TWO_MIB);
            try (PagePool pool = PagePool.open(config)) {
                System.out.printf(
                        "opened %s, locked %s, steps %s%n",
                        pool.backing(),
                        pool.statistics().locked(),
                        pool.steps().stream().map(BackingStep::what).toList());
            } catch (HugepagesUnavailableException e) {
                System.out.println("others took the pages");
            } catch (MemoryLockException e) {
                System.out.printf(
                        "refused, needed %d, limit %d, left mapped: %d%n",
                        e.neededBytes(), e.limitBytes(), mappingsOf(BODY) + mappingsOf(BODY + PoolLayout.ALIGNMENT));
                System.out.println(e.getMessage());
            }
        }

        private static long mappingsOf(long bytes) throws Exception {
            return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                    .filter(line -> {
                        String[] range = line.substring(0, line.indexOf(' ')).split("-");
                        return Long.parseUnsignedLong(range[1], 16) - Long.parseUnsignedLong(range[0], 16) == bytes;
                    })
                    .count();
        }
    }
}
