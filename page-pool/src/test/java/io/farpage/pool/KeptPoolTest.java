package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** A pool in a file is unmapped and adopted again, as after the death of the process. */
class KeptPoolTest {
    private static final long MIB = 1 << 20;
    private static final PoolConfig BASE =
            PoolConfig.of("node-a", 0x11, 4 * MIB, 2 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);
    private static final PoolConfig SUCCESSOR =
            PoolConfig.of("node-a", 0x12, 4 * MIB, 2 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);

    private static int keep(PagePool pool) {
        SystemCall kept = SharedMemory.duplicate(pool.file().orElseThrow().fd());
        assertTrue(kept.succeeded());
        return (int) kept.value();
    }

    private static void fill(PagePool pool) {
        for (long at = 0; at < pool.exported().byteSize(); at += 4096) {
            pool.exported().set(ValueLayout.JAVA_LONG, at, at ^ 0x5a5a);
        }
    }

    private static void check(PagePool pool) {
        for (long at = 0; at < pool.exported().byteSize(); at += 4096) {
            assertEquals(at ^ 0x5a5a, pool.exported().get(ValueLayout.JAVA_LONG, at), "offset " + at);
        }
    }

    /** Makes a pool, fills it, and leaves only its descriptor. */
    private static int left(PoolConfig config) throws PoolException {
        try (PagePool pool = PagePool.openInFile(config)) {
            fill(pool);
            return keep(pool);
        }
    }

    private static KeptPoolException refused(PoolConfig config, int kept) throws KeptPoolException {
        PoolFile file = PoolFile.adopt(kept);
        return assertThrows(KeptPoolException.class, () -> PagePool.adopt(config, file));
    }

    @Test
    void shouldHaveEveryByteAndItsNameAfterAnotherProcessHasAdoptedIt() throws Exception {
        int kept = left(BASE);
        int again;
        try (PagePool pool = PagePool.adopt(SUCCESSOR, PoolFile.adopt(kept))) {
            check(pool);
            assertEquals(0x11, pool.id());
            assertEquals(Backing.BASE, pool.backing());
            PoolHeader.readFrom(pool.header()).verify("node-a", 0x12, 0x11);
            assertEquals(0, pool.exportedAddress() % (2 * MIB));
            again = keep(pool);
        }
        PoolConfig third =
                PoolConfig.of("node-a", 0x13, 4 * MIB, 2 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);
        try (PagePool pool = PagePool.adopt(third, PoolFile.adopt(again))) {
            check(pool);
            PoolHeader.readFrom(pool.header()).verify("node-a", 0x13, 0x11);
        }
    }

    @Test
    void shouldAdoptHugepages() throws PoolException {
        PoolConfig huge = BASE.withHugepages(HugepagePolicy.REQUIRE, HugepageSize.TWO_MIB);
        try (ReservedPool reserved = ReservedPool.openInFile(huge, HugepageSize.TWO_MIB, 4)) {
            assertEquals(Backing.HUGETLB_2M, reserved.pool().backing());
            fill(reserved.pool());
            int kept = keep(reserved.pool());
            reserved.pool().close();
            try (PagePool pool = PagePool.adopt(
                    SUCCESSOR.withHugepages(HugepagePolicy.REQUIRE, HugepageSize.TWO_MIB), PoolFile.adopt(kept))) {
                assertEquals(Backing.HUGETLB_2M, pool.backing());
                assertEquals(4, pool.statistics().hugepages());
                check(pool);
            }
        }
    }

    @Test
    void shouldRefuseThePoolOfAnotherNodeAndNameBoth() throws PoolException {
        KeptPoolException refused = refused(
                PoolConfig.of("node-b", 0x12, 4 * MIB, 2 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB),
                left(BASE));
        assertTrue(String.valueOf(refused.getMessage()).contains("node 'node-a', and this is node 'node-b'"));
    }

    @Test
    void shouldRefuseOtherSizes() throws PoolException {
        PoolConfig longer =
                PoolConfig.of("node-a", 0x12, 8 * MIB, 2 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);
        assertTrue(
                String.valueOf(refused(longer, left(BASE)).getMessage()).contains("8388608 bytes, and pool.exported"));
        PoolConfig shifted =
                PoolConfig.of("node-a", 0x12, 2 * MIB, 4 * MIB).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);
        assertTrue(String.valueOf(refused(shifted, left(BASE)).getMessage()).contains("4194304 exported bytes"));
        KeptPoolException ordinary =
                refused(SUCCESSOR.withHugepages(HugepagePolicy.REQUIRE, HugepageSize.TWO_MIB), left(BASE));
        assertTrue(ordinary.fix().contains("pool.hugepages"), ordinary.fix());
    }

    @SuppressWarnings("restricted") // the record is not among the pool's segments
    @Test
    void shouldRefuseADamagedRecordAndLeaveThePagesAsTheyAre() throws PoolException {
        int kept;
        int witness;
        try (PagePool pool = PagePool.openInFile(BASE)) {
            fill(pool);
            MemorySegment record = MemorySegment.ofAddress(pool.headerAddress() + PoolLayout.IDENTITY_OFFSET)
                    .reinterpret(128);
            record.set(ValueLayout.JAVA_BYTE, 20, (byte) ~record.get(ValueLayout.JAVA_BYTE, 20));
            kept = keep(pool);
            witness = keep(pool);
        }
        KeptPoolException refused = refused(SUCCESSOR, kept);
        assertTrue(String.valueOf(refused.getMessage()).contains("checksum"), refused.getMessage());
        assertTrue(refused.fix().contains("keeper-drop"), refused.fix());
        try (MemoryFile file = MemoryFile.adopt(witness);
                Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(ValueLayout.JAVA_LONG);
            for (long at = 0; at < BASE.exportedBytes(); at += 4096) {
                assertEquals(8, file.read(PoolLayout.exportedOffset() + at, found.address(), 8));
                assertEquals(at ^ 0x5a5a, found.get(ValueLayout.JAVA_LONG, 0), "offset " + at);
            }
        }
    }

    @Test
    void shouldRefuseWhatIsNoPool() {
        try (MemoryFile plain = MemoryFile.create("plain", 8 * MIB)) {
            int other = (int) SharedMemory.duplicate(plain.fd()).value();
            KeptPoolException refused = assertThrows(KeptPoolException.class, () -> PoolFile.adopt(other));
            assertTrue(String.valueOf(refused.getMessage()).contains("sealed memfd"), refused.getMessage());
        }
    }
}
