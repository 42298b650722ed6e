package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PagePoolTest {
    private static final long MIB = 1 << 20;
    private static final PoolConfig SMALL = PoolConfig.of("node-a", 0x1234, 4 * MIB, 2 * MIB);

    @Test
    void shouldMapHugetlbPagesThatWereReserved() throws PoolException {
        PoolConfig config = SMALL.withHugepages(HugepagePolicy.REQUIRE, HugepageSize.TWO_MIB);
        try (ReservedPool reserved = ReservedPool.open(config, HugepageSize.TWO_MIB, 4)) {
            PoolStatistics statistics = reserved.pool().statistics();
            assertEquals(Backing.HUGETLB_2M, statistics.backing());
            assertEquals(4, statistics.hugepages());
            assertEquals(8 * MIB, statistics.mappedBytes());
            assertTrue(statistics.locked());
        }
    }

    @Test
    void shouldAlignEveryPart() throws Exception {
        for (HugepagePolicy policy : new HugepagePolicy[] {HugepagePolicy.PREFER, HugepagePolicy.OFF}) {
            try (PagePool pool = PagePool.open(SMALL.withHugepages(policy, HugepageSize.TWO_MIB))) {
                assertEquals(0, pool.headerAddress() % 4096);
                assertEquals(0, pool.exportedAddress() % (2 * MIB));
                assertEquals(0, pool.stagingAddress() % 4096);
                assertEquals(4096, pool.header().byteSize());
                assertEquals(4 * MIB, pool.exported().byteSize());
                assertEquals(2 * MIB, pool.staging().byteSize());
            }
        }
    }

    @Test
    void shouldStartAsZerosBehindItsHeader() throws Exception {
        try (PagePool pool = PagePool.open(SMALL)) {
            PoolHeader.readFrom(pool.header()).verify("node-a", 0x1234);
            assertEquals(-1, pool.exported().mismatch(MemorySegment.ofArray(new byte[(int) (4 * MIB)])));
            assertEquals(-1, pool.staging().mismatch(MemorySegment.ofArray(new byte[(int) (2 * MIB)])));
        }
    }

    @Test
    void shouldZeroARangeForItsNextOwnerAndNothingBesideIt() throws PoolException {
        try (PagePool pool = PagePool.open(SMALL)) {
            pool.exported().fill((byte) 0x5a);
            pool.zero(4096, 8192);
            assertEquals(-1, pool.exported().asSlice(4096, 8192).mismatch(MemorySegment.ofArray(new byte[8192])));
            assertEquals(0x5a, pool.exported().get(ValueLayout.JAVA_BYTE, 4095));
            assertEquals(0x5a, pool.exported().get(ValueLayout.JAVA_BYTE, 4096 + 8192));
            assertEquals(8192, pool.statistics().zeroedBytes());
            assertThrows(
                    IndexOutOfBoundsException.class,
                    () -> pool.zero(pool.exported().byteSize(), 4096));
        }
    }

    @Test
    void shouldThrowOnAccessAfterClose() throws PoolException {
        PagePool pool = PagePool.open(SMALL);
        MemorySegment exported = pool.exported();
        pool.close();
        pool.close();
        assertThrows(IllegalStateException.class, () -> exported.get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, () -> pool.zero(0, 4096));
        assertFalse(pool.exported().scope().isAlive());
    }

    @Test
    void shouldReturnNoneWhenExhausted() throws PoolException {
        try (PagePool pool = PagePool.open(SMALL.withFrameBytes(1 << 21))) {
            assertEquals(0, pool.stagingFrames().allocate());
            assertEquals(FrameAllocator.NONE, pool.stagingFrames().allocate());
            assertEquals(
                    new PoolStatistics.Frames(1, 0, 1, 1), pool.statistics().staging());
        }
    }

    @Test
    void shouldThrowRatherThanCrashIfClosedUnderAccess() throws Exception {
        for (int round = 0; round < 20; round++) {
            PagePool pool = PagePool.open(SMALL.withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
            AtomicLong accesses = new AtomicLong();
            Queue<Throwable> ends = new ConcurrentLinkedQueue<>();
            List<Thread> threads = Stream.<Runnable>of(
                            () -> pool.zero(0, 4 * MIB),
                            () -> pool.staging().set(ValueLayout.JAVA_LONG, 0, 1),
                            () -> MemorySegment.copy(pool.exported(), 0, pool.staging(), 0, 4096))
                    .map(access -> Thread.ofPlatform().start(() -> {
                        try {
                            while (true) {
                                access.run();
                                accesses.incrementAndGet();
                            }
                        } catch (IllegalStateException e) {
                            ends.add(e);
                        }
                    }))
                    .toList();
            Deadlines.await("threads use the pool", Deadlines.SHORT).until(() -> accesses.get() > 100);
            pool.close();
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(3, ends.size());
        }
    }
}
