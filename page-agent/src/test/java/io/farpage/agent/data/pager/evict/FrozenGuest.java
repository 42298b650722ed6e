package io.farpage.agent.data.pager.evict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.fault.Arrivals;
import io.farpage.agent.data.pager.fault.Children;
import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FrozenPages;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.linux.uffd.GuestFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * A guest of four extents whose snapshot is made, and whose clock the test turns. Pages of "a" live on this node; the
 * link to "b" is down. Each extent begins at the start of the pool.
 */
final class FrozenGuest implements AutoCloseable {
    static final int EXTENT = 64;
    static final int PAGES = 4 * EXTENT;
    static final byte WRITTEN = 7;
    static final byte OLD = 3;
    private static final int PAGE = 4096;
    private static final int CYCLES = 100;

    final RecordingKernel kernel = new RecordingKernel();
    final PageTable table = new PageTable(PAGES, true);
    final AddressSpace memory;
    final FrozenPages frozen;
    final Residency residency;
    final Freeze freeze;
    /** Every byte of the guest's memory. */
    byte content = WRITTEN;

    private final PagerParts parts;
    private long now = 1;

    /** @param nodes the home of each extent */
    FrozenGuest(String... nodes) {
        parts = new PagerParts(() -> now);
        parts.pool().exported().fill(OLD);
        GuestFile file = new Memory();
        memory = parts.memory(kernel, file, PagerParts.layout(PAGES, PAGE), table, PagerParts.map(PAGES, PAGE, nodes));
        frozen = memory.context().frozen();
        Installer installer = new Installer(memory, Installer.Sharers.NONE);
        Arrivals arrivals = new Arrivals(memory, installer);
        residency = new Residency(memory, installer, arrivals, new Children(memory));
        WriteBack writeBack = new WriteBack(memory, file);
        freeze = new Freeze(memory, new PageOut(memory, writeBack, residency, arrivals.lost()), writeBack, residency);
    }

    private final class Memory implements GuestFile {
        @Override
        @SuppressWarnings("restricted") // SAFETY: the caller owns these bytes of its staging memory.
        public long read(long offset, long address, long length) {
            MemorySegment.ofAddress(address).reinterpret(length).fill(content);
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            throw new AssertionError("nothing is evicted");
        }

        @Override
        public long firstPage(long offset, long length) {
            return offset;
        }
    }

    void dirty(int... pages) {
        for (int page : pages) {
            PageStates.set(table, page, PageTable.DIRTY);
        }
    }

    void pass(Duration time) {
        now += time.toNanos();
    }

    State state() {
        return freeze.status().state();
    }

    /** Protects pages before the moment. */
    void prepare() {
        assertNull(freeze.prepare());
        for (int i = 0; i < CYCLES && state() == State.PREPARING; i++) {
            freeze.doWork();
        }
        assertEquals(State.PREPARED, state(), freeze.status()::toString);
    }

    /** Begins, and works until pages are being written home. */
    void begin() {
        assertNull(freeze.begin());
        for (int i = 0; i < CYCLES && state() == State.FREEZING; i++) {
            freeze.doWork();
        }
        assertEquals(State.SAVING, state(), freeze.status()::toString);
    }

    /** Works for long. */
    State work() {
        for (int i = 0; i < CYCLES; i++) {
            freeze.doWork();
        }
        return state();
    }

    void assertFailed(String why) {
        work();
        FreezeStatus status = freeze.status();
        assertEquals(State.FAILED, status.state());
        assertTrue(status.failure().contains(why), status::toString);
        assertFalse(frozen.isActive(), "pages are written home again");
        assertFalse(freeze.handOver());
    }

    /** What this node has of a page. */
    byte home(int page) {
        return parts.pool().exported().get(ValueLayout.JAVA_BYTE, (long) (page % EXTENT) * PAGE);
    }

    @Override
    public void close() {
        parts.close();
    }
}
