package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.Errno;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How many pages may become resident. The pages live on this node. */
final class ResidencyTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 256;
    private static final int LIMIT = 100;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final PageTable table = new PageTable(PAGES, true);
    private final RecordingKernel kernel = new RecordingKernel();
    private final AddressSpace memory = memory(true);
    private final Installer installer = new Installer(memory, Installer.Sharers.NONE);

    private AddressSpace memory(boolean shared) {
        return parts.memory(kernel, shared, PagerParts.layout(PAGES, PAGE), table, PagerParts.map(PAGES, PAGE, "a"));
    }

    private Residency residency(boolean shared) {
        AddressSpace of = shared ? memory : memory(false);
        Residency residency = new Residency(of, installer, new Arrivals(of, installer), new Children(of));
        residency.resize(LIMIT);
        return residency;
    }

    private void resident(int pages) {
        PageStates.set(table, 0, pages, PageTable.CLEAN);
    }

    @Test
    void shouldOfferFreeFramesUpToOneRunWhenLimitLeavesMore() {
        Residency residency = residency(true);
        assertEquals(PagerOptions.MAX_RUN, residency.freeFrames(0));
        resident(LIMIT - 3);
        assertEquals(3, residency.freeFrames(0));
        resident(LIMIT);
        assertEquals(0, residency.freeFrames(0));
    }

    @Test
    void shouldOfferMoreFramesWhenLimitRises() {
        Residency residency = residency(true);
        resident(LIMIT);
        residency.resize(LIMIT + 5);
        assertEquals(5, residency.freeFrames(0));
        assertEquals(LIMIT + 5, residency.goal());
    }

    @Test
    void shouldCountVictimsAgainstLimitWhenPagesAreEvicted() {
        Residency residency = residency(true);
        residency.fitVictims(false);
        assertEquals(LIMIT, residency.goal(), "nothing is evicted");
        residency.fitVictims(true);
        assertEquals(LIMIT - LIMIT / 16, residency.goal());
        resident(LIMIT - LIMIT / 16 - 1);
        assertEquals(1, residency.freeFrames(0));
    }

    @Test
    void shouldHaveNoVictimsWhenGuestIsParked() {
        Residency residency = residency(true);
        residency.fitVictims(true);
        residency.parking().park(64);
        residency.fitVictims(true);
        assertEquals(0, memory.victims().capacity());
        residency.parking().unpark();
        residency.fitVictims(true);
        assertEquals(LIMIT / 16, memory.victims().capacity());
    }

    @Test
    void shouldHaveNoVictimsWhenAllPagesMayBeResident() {
        Residency residency = residency(true);
        residency.fitVictims(true);
        residency.resize(PAGES);
        residency.fitVictims(false);
        assertEquals(PAGES, residency.goal());
    }

    @Test
    void shouldHaveNoVictimsWhenHostHasNoMemory() {
        Residency residency = residency(true);
        residency.fitVictims(true);
        kernel.refuse(Errno.ENOMEM);
        assertEquals(0, installer.copy(0, 1, 1, false));
        residency.fitVictims(true);
        assertEquals(0, memory.victims().capacity());
    }

    @Test
    void shouldOfferOneFrameAtATimeUpToWhatMayStayWhenParked() {
        Residency residency = residency(true);
        residency.parking().park(20);
        assertEquals(1, residency.freeFrames(0));
        resident(20);
        assertEquals(0, residency.freeFrames(0));
        assertEquals(20, residency.goal());
        residency.parking().unpark();
        assertEquals(PagerOptions.MAX_RUN, residency.freeFrames(0));
        assertEquals(LIMIT, residency.goal());
    }

    @Test
    void shouldNotCountPagesWhenTheyAreStranded() {
        Residency residency = residency(true);
        resident(LIMIT);
        table.strand(1);
        table.strand(2);
        assertEquals(2, residency.freeFrames(0));
        assertEquals(LIMIT - 2, residency.held());
    }

    @Test
    void shouldIgnoreLimitWhenMemoryIsPrivate() {
        Residency residency = residency(false);
        resident(LIMIT);
        assertFalse(residency.isEvictable());
        assertEquals(PagerOptions.MAX_RUN, residency.freeFrames(0));
    }

    @Test
    void shouldIgnoreLimitWhenEvictionHasFailed() {
        Residency residency = residency(true);
        resident(LIMIT);
        assertTrue(residency.isEvictable());
        residency.stopEviction();
        assertFalse(residency.isEvictable());
        assertEquals(PagerOptions.MAX_RUN, residency.freeFrames(0));
    }

    @Test
    void shouldIgnoreLimitWhenKernelCannotWriteProtect() {
        Residency residency = residency(true);
        resident(LIMIT);
        kernel.refuse(Errno.EINVAL);
        assertEquals(0, memory.protection().protect(0, 1));
        assertEquals(PagerOptions.MAX_RUN, residency.freeFrames(0));
    }

    @Test
    void shouldLowerGoalBelowResidentPagesWhenHostHasNoMemory() {
        Residency residency = residency(true);
        resident(40);
        PageStates.set(table, 50, PageTable.FETCHING);
        kernel.refuse(Errno.ENOMEM);
        assertEquals(0, installer.copy(50, 1, 0, false));
        assertEquals(39, residency.goal());
        assertEquals(1, installer.copy(50, 1, 0, false));
        assertEquals(LIMIT, residency.goal(), "there is memory again");
    }
}
