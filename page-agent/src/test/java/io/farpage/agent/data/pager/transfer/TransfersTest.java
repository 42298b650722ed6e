package io.farpage.agent.data.pager.transfer;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.fault.Arrivals;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import org.junit.jupiter.api.Test;

class TransfersTest {
    private static final int PAGE = 4096;
    private static final int STAGING_FRAME = 0;

    private final RecordingKernel kernel = new RecordingKernel();

    /**
     * A run keeps its slot while a part of it waits to be installed. Pages of the other part may be evicted and fetched
     * anew meanwhile.
     */
    @Test
    void shouldMarkRemovalInYoungestFetchWhenTwoHavePage() {
        PageTable table = new PageTable(8, true);
        try (PagerParts parts = new PagerParts(System::nanoTime)) {
            AddressSpace memory = parts.memory(kernel, true, PAGE, table);
            Arrivals arrivals = new Arrivals(memory, new Installer(memory, Installer.Sharers.NONE));
            Transfers transfers = memory.context().transfers();
            Transfer older = fetch(transfers, arrivals, 5, 2);
            older.complete(1);
            Transfer later = fetch(transfers, arrivals, 5, 1);
            arrivals.remove(5, 1);
            assertTrue(later.isRemoved(0));
            assertFalse(older.isRemoved(0));
            arrivals.remove(6, 1);
            assertTrue(older.isRemoved(1));
        }
    }

    /** A child with private memory has pages of the same numbers. */
    @Test
    void shouldMarkRemovalOnlyInFetchesOfSameAddressSpace() {
        try (PagerParts parts = new PagerParts(System::nanoTime)) {
            AddressSpace memory = parts.memory(kernel, false, PAGE, new PageTable(8, true));
            AddressSpace child =
                    new AddressSpace(memory.context(), kernel, memory.layout(), new PageTable(8, true), false);
            Arrivals own = new Arrivals(memory, new Installer(memory, Installer.Sharers.NONE));
            Arrivals other = new Arrivals(child, new Installer(child, Installer.Sharers.NONE));
            Transfers transfers = memory.context().transfers();
            Transfer first = fetch(transfers, own, 5, 1);
            Transfer second = fetch(transfers, other, 5, 1);
            other.remove(5, 1);
            other.want(5, true);
            assertFalse(first.isRemoved(0));
            assertTrue(second.isRemoved(0));
            own.want(5, true);
            assertTrue(first.isForWrite());
            assertFalse(second.isForWrite(), "the page was given up before the write");
        }
    }

    private static Transfer fetch(Transfers transfers, Arrivals owner, int page, int count) {
        Transfer begun = transfers.begin(Transfer.Kind.FETCH, page, count, STAGING_FRAME);
        assertNotNull(begun);
        begun.fetchesFor(owner, false, 0);
        return begun;
    }
}
