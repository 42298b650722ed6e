package io.farpage.agent.data.pager.evict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.fault.Arrivals;
import io.farpage.agent.data.pager.fault.Children;
import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pages that do not leave the memory file: those of a huge page that the kernel cannot split, and those of a file
 * without holes.
 */
class PageOutTest {
    private static final int BYTES = 4096;
    private static final int PAGES = 8;
    private static final int LEFT = 2;

    private final RecordingKernel kernel = new RecordingKernel();
    private final PageTable table = new PageTable(PAGES, false);

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final AddressSpace memory =
            parts.memory(kernel, true, PagerParts.layout(PAGES, BYTES), table, PagerParts.map(PAGES, BYTES, "a"));
    private final Installer installer = new Installer(memory, Installer.Sharers.NONE);
    private final Arrivals arrivals = new Arrivals(memory, installer);
    private final Residency residency = new Residency(memory, installer, arrivals, new Children(memory));
    private final UnsplitFile file = new UnsplitFile();
    private final PageOut pageOut = new PageOut(memory, new WriteBack(memory, file), residency, arrivals.lost());

    /** A file that keeps some pages as zeros, until {@code attempts} holes were punched. */
    private static final class UnsplitFile implements GuestFile {
        private final Set<Long> left = new HashSet<>();
        private int attempts = Integer.MAX_VALUE;
        private byte content;
        private int punched;
        private int refusal;

        @Override
        @SuppressWarnings("restricted") // SAFETY: the caller owns these bytes of its staging memory.
        public long read(long offset, long address, long length) {
            MemorySegment.ofAddress(address).reinterpret(length).fill(content);
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            punched++;
            return refusal;
        }

        @Override
        public long firstPage(long offset, long length) {
            return left.stream()
                    .filter(at -> at >= offset && at < offset + length && punched < attempts)
                    .min(Long::compare)
                    .orElse(-(long) Errno.ENXIO);
        }
    }

    private List<Integer> evict(int state, int count) {
        for (int page = 0; page < count; page++) {
            PageStates.set(table, page, state);
        }
        assertEquals(count, pageOut.begin(0, count));
        if (state == PageTable.DIRTY) {
            pageOut.await(0);
            pageOut.writeInspected(count);
        }
        return List.of(table.state(LEFT - 1), table.state(LEFT), table.state(LEFT + 1));
    }

    @ParameterizedTest
    @ValueSource(ints = {PageTable.CLEAN, PageTable.DIRTY})
    void shouldPoisonPageThatStaysInTheFileAsZeros(int state) {
        file.left.add((long) LEFT * BYTES);
        file.content = 7;
        assertEquals(List.of(PageTable.REMOTE, PageTable.LOST, PageTable.REMOTE), evict(state, 4));
        assertTrue(kernel.calls.contains("poison 2"), kernel.calls.toString());
        assertEquals(1, memory.context().counters().lost().get());
        assertFalse(residency.isEvictable(), "every page of such memory may be the next");
    }

    @Test
    void shouldKeepPageAtItsHomeWhenSecondPunchRemovesIt() {
        file.left.add((long) LEFT * BYTES);
        file.attempts = 2;
        assertEquals(List.of(PageTable.REMOTE, PageTable.REMOTE, PageTable.REMOTE), evict(PageTable.CLEAN, 4));
        assertEquals(0, memory.context().counters().lost().get());
        assertFalse(residency.isEvictable());
    }

    /** Zeros are what the page holds. */
    @Test
    void shouldKeepPageOfZerosResidentWhenItStaysInTheFile() {
        file.left.add((long) LEFT * BYTES);
        assertEquals(List.of(PageTable.ZERO, PageTable.DIRTY, PageTable.ZERO), evict(PageTable.DIRTY, 4));
        assertEquals(0, memory.context().counters().lost().get());
    }

    /** The guest stores to them without a fault as long as they are in the file. */
    @Test
    void shouldKeepPagesOfZerosResidentWhenTheyCannotBePunchedOut() {
        file.refusal = -Errno.EPERM;
        assertEquals(List.of(PageTable.DIRTY, PageTable.DIRTY, PageTable.DIRTY), evict(PageTable.DIRTY, 4));
        assertFalse(residency.isEvictable());
    }

    @Test
    void shouldEvictWhenAllPagesHaveLeftTheFile() {
        assertEquals(List.of(PageTable.REMOTE, PageTable.REMOTE, PageTable.REMOTE), evict(PageTable.CLEAN, 4));
        assertTrue(residency.isEvictable());
        assertEquals(1, file.punched);
    }
}
