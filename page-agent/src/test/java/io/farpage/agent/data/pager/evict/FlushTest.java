package io.farpage.agent.data.pager.evict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.uffd.GuestFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Dirty pages are written home when the guest has ended. Pages of "a" live on this node; the link to "b" is down. */
final class FlushTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 32;
    private static final byte WRITTEN = 7;
    private static final byte OLD = 3;

    private long now = 1;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    private final PageTable table = new PageTable(PAGES, true);
    private boolean truncated;

    /** Every byte of it is {@link #WRITTEN}. */
    private final GuestFile file = new GuestFile() {
        @Override
        @SuppressWarnings("restricted") // SAFETY: the caller owns these bytes of its staging memory.
        public long read(long offset, long address, long length) {
            if (!truncated) {
                MemorySegment.ofAddress(address).reinterpret(length).fill(WRITTEN);
            }
            return truncated ? 0 : length;
        }

        @Override
        public int punchHole(long offset, long length) {
            throw new AssertionError("the guest has ended: nothing is evicted");
        }

        @Override
        public long firstPage(long offset, long length) {
            throw new AssertionError("the guest has ended: nothing is evicted");
        }
    };

    private Flush flush(String... nodes) {
        parts.pool().exported().fill(OLD);
        AddressSpace memory = parts.memory(
                new RecordingKernel(), true, PagerParts.layout(PAGES, PAGE), table, PagerParts.map(PAGES, PAGE, nodes));
        return new Flush(memory, new WriteBack(memory, file));
    }

    private byte home(int page) {
        return parts.pool().exported().get(ValueLayout.JAVA_BYTE, (long) page * PAGE);
    }

    @Test
    void shouldWriteOnlyDirtyPagesWhenGuestHasEnded() {
        PageStates.set(table, 2, PageTable.DIRTY);
        PageStates.set(table, 3, PageTable.CLEAN);
        Flush flush = flush("a");
        flush.doWork();
        assertTrue(flush.isDone());
        assertTrue(flush.isComplete());
        assertEquals(WRITTEN, home(2));
        assertEquals(OLD, home(3));
        assertEquals(OLD, home(4));
    }

    @Test
    void shouldWriteZerosWhenHomeHasOlderVersion() {
        PageStates.set(table, 2, PageTable.ZERO);
        table.set(2, PageTable.HAS_REMOTE_COPY);
        PageStates.set(table, 4, PageTable.ZERO);
        table.clear(4, PageTable.HAS_REMOTE_COPY);
        Flush flush = flush("a");
        flush.doWork();
        assertEquals(0, home(2));
        assertEquals(OLD, home(4), "a home that has no version of the page holds zeros already");
    }

    @Test
    void shouldBeIncompleteWhenFileWasTruncated() {
        PageStates.set(table, 2, PageTable.DIRTY);
        truncated = true;
        Flush flush = flush("a");
        flush.doWork();
        assertTrue(flush.isDone());
        assertFalse(flush.isComplete());
        assertEquals(OLD, home(2), "the older version is better than none");
    }

    @Test
    void shouldWritePagesOfOtherHomesWhenOneIsDown() {
        PageStates.set(table, 2, PageTable.DIRTY);
        PageStates.set(table, 20, PageTable.DIRTY);
        Flush flush = flush("b", "a");
        flush.doWork();
        assertFalse(flush.isDone());
        assertEquals(WRITTEN, home(20 - PAGES / 2), "an extent begins at the start of the pool");
    }

    @Test
    void shouldEndIncompleteWhenDeadlineHasPassed() {
        PageStates.set(table, 2, PageTable.DIRTY);
        Flush flush = flush("b");
        flush.doWork();
        now += PagerOptions.FLUSH_DEADLINE.toNanos();
        flush.doWork();
        assertFalse(flush.isDone());
        now++;
        flush.doWork();
        assertTrue(flush.isDone());
        assertFalse(flush.isComplete());
    }
}
