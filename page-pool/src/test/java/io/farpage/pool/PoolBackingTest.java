package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.Memory;
import io.farpage.linux.Smaps;
import io.farpage.linux.SystemCall;
import io.farpage.pool.hugepages.HugepageCounts;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.pool.hugepages.Hugepages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class PoolBackingTest {
    private static final long MIB = 1 << 20;
    private static final PoolConfig SMALL = PoolConfig.of("node-a", 7, 4 * MIB, 2 * MIB);

    @Test
    void shouldRefuseWithTheCommandIfHugepagesAreRequired() {
        PoolConfig moreThanAnybodyHas =
                PoolConfig.of("node-a", 7, 1L << 42, 0).withHugepages(HugepagePolicy.REQUIRE, HugepageSize.TWO_MIB);
        HugepagesUnavailableException e =
                assertThrows(HugepagesUnavailableException.class, () -> PagePool.open(moreThanAnybodyHas));
        assertEquals(HugepageSize.TWO_MIB, e.size());
        assertEquals((1 << 21) + 1, e.wanted());
        assertTrue(
                e.toString()
                        .matches(".*: the pool needs 2097153 hugepages of 2 MiB; (of \\d+ there are \\d+ free and not "
                                + "reserved|this kernel offers none of that size) .*; fix: .*"),
                e.toString());
        assertTrue(
                e.fix().matches("echo 2\\d{6} > /proc/sys/vm/nr_hugepages|use another hugepage size, or none"),
                e.fix());
    }

    @Test
    void shouldStepDownFromOneGibibyteToTwoMebibytes() throws PoolException {
        assumeTrue(available(HugepageSize.ONE_GIB) == 0, "somebody has reserved pages of 1 GiB");
        PoolConfig config = SMALL.withHugepages(HugepagePolicy.PREFER, HugepageSize.ONE_GIB);
        try (ReservedPool reserved = ReservedPool.open(config, HugepageSize.TWO_MIB, 4)) {
            assertEquals(List.of(BackingStep.What.NO_HUGETLB_1G), whats(reserved.pool()));
        }
    }

    @Test
    @Tag("soak")
    void shouldMapOneGibibytePages() throws PoolException {
        PoolConfig config = SMALL.withHugepages(HugepagePolicy.REQUIRE, HugepageSize.ONE_GIB);
        try (ReservedPool reserved = ReservedPool.open(config, HugepageSize.ONE_GIB, 1)) {
            assertEquals(1, reserved.pool().statistics().hugepages());
            assertEquals(0, reserved.pool().headerAddress() % HugepageSize.ONE_GIB.bytes());
        }
    }

    @Test
    void shouldReportHowMuchIsInTransparentHugepages() throws PoolException {
        assumeTrue(available(HugepageSize.TWO_MIB) < 4, "somebody has reserved pages of 2 MiB");
        try (PagePool pool = PagePool.open(SMALL)) {
            assumeTrue(!pool.backing().isHugetlb(), "somebody has just reserved pages of 2 MiB");
            long huge = Smaps.transparentHugeBytes(pool.exportedAddress(), 6 * MIB);
            assertEquals(huge / (2 * MIB), pool.statistics().hugepages());
            assertEquals(huge > 0 ? Backing.TRANSPARENT : Backing.BASE, pool.backing());
            assertEquals(huge < 6 * MIB, whats(pool).contains(BackingStep.What.NOT_ALL_TRANSPARENT));
            assertEquals(BackingStep.What.NO_HUGETLB_2M, pool.steps().getFirst().what());
        }
    }

    @Test
    void shouldUseBasePagesOnlyIfToldSo() throws PoolException {
        try (PagePool pool = PagePool.open(SMALL.withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB))) {
            assertEquals(Backing.BASE, pool.backing());
            assertEquals(0, Smaps.transparentHugeBytes(pool.headerAddress(), 8 * MIB));
            assertEquals(0, pool.statistics().hugepages());
        }
    }

    @Test
    void shouldRefuseMoreThanThereIsBeforeTouchingIt() {
        PoolConfig tooMuch = PoolConfig.of("node-a", 7, 1L << 42, 0)
                .withFrameBytes(1 << 21)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB);
        MemoryUnavailableException e = assertThrows(MemoryUnavailableException.class, () -> PagePool.open(tooMuch));
        assertEquals(1L << 42, e.neededBytes());
        assertTrue(e.toString().contains("the pool needs 4398046511104 bytes, "), e.toString());
    }

    @Test
    void shouldBindToANumaNode() throws Exception {
        assumeTrue(Files.exists(Path.of("/sys/devices/system/node/node0")), "a kernel without NUMA");
        try (PagePool pool = PagePool.open(SMALL.withNumaNode(0))) {
            String maps = Files.readString(Path.of("/proc/self/numa_maps"));
            String line = maps.lines()
                    .filter(l -> l.startsWith(Long.toHexString(pool.exportedAddress()) + " ")
                            || l.startsWith(Long.toHexString(pool.headerAddress()) + " "))
                    .findFirst()
                    .orElseThrow();
            assertTrue(line.contains(" bind:0 "), line);
        }
    }

    @Test
    void shouldNameTheNodesWhenTheConfiguredOneIsMissing() {
        NumaNodeException e = assertThrows(NumaNodeException.class, () -> PagePool.open(SMALL.withNumaNode(1000)));
        assertTrue(e.toString().contains("cannot be bound to NUMA node 1000: mbind: EINVAL"), e.toString());
    }

    @Test
    void shouldPopulateByTouchingOnOldKernels() {
        SystemCall mapped = Memory.mmap(4 * MIB, 0);
        Mapping mapping = Mapping.at(mapped.value(), 4 * MIB);
        try {
            mapping.segment().fill((byte) 1);
            assertEquals(Optional.empty(), Population.touch(mapping.address(), mapping.bytes()));
            MemorySegment expected = MemorySegment.ofArray(new byte[4096]).fill((byte) 1);
            expected.set(ValueLayout.JAVA_BYTE, 0, (byte) 0);
            assertEquals(-1, mapping.segment().asSlice(4 * MIB - 4096).mismatch(expected));
        } finally {
            mapping.close();
        }
    }

    @Test
    void shouldReturnAnErrorAndRaiseNoSignalWhenAPageCannotBeHad() {
        // Nothing is ever mapped below vm.mmap_min_addr.
        assertEquals(
                Optional.of("touching: EFAULT: no page is available (a hugetlb control group's limit, or a NUMA "
                        + "node without free pages)"),
                Population.touch(4096, 4096));
        assertEquals(
                Optional.of("madvise(MADV_POPULATE_WRITE): ENOMEM: out of memory"), Population.populate(4096, 4096));
    }

    private static List<BackingStep.What> whats(PagePool pool) {
        return pool.steps().stream().map(BackingStep::what).toList();
    }

    private static long available(HugepageSize size) {
        return Hugepages.ofThisMachine()
                .counts(size)
                .map(HugepageCounts::available)
                .orElse(0L);
    }
}
