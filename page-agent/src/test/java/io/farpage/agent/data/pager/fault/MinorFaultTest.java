package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.linux.Errno;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A page that another mapping has put into the page cache while it is being fetched from its home. */
class MinorFaultTest {
    private static final int BYTES = 4096;
    private static final int PAGES = 8;
    private static final int PAGE = 5;

    private final PageTable table = new PageTable(PAGES, true);

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final RecordingKernel kernel = new RecordingKernel();
    private final AddressSpace memory = parts.memory(kernel, true, BYTES, table);
    private final Installer installer = new Installer(memory, Installer.Sharers.NONE);
    private final Arrivals arrivals = new Arrivals(memory, installer);
    private final Children children = new Children(memory);
    private final FaultHandler faults = new FaultHandler(
            memory, installer, arrivals, new Residency(memory, installer, arrivals, children), children);
    private final Transfer fetch = fetch();

    /** Two pages are on their way. */
    private Transfer fetch() {
        for (int page = PAGE; page < PAGE + 2; page++) {
            PageStates.set(table, page, PageTable.FETCHING);
        }
        Transfer begun = memory.context().transfers().begin(Transfer.Kind.FETCH, PAGE, 2, 0);
        assertNotNull(begun);
        begun.fetchesFor(arrivals, false, 0);
        return begun;
    }

    @Test
    void shouldDropFetchedPageWhenItWasMappedMeanwhile() {
        faults.minor(PAGE, 0);

        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertTrue(fetch.isRemoved(0), "the older bytes from the home would replace what the guest stores");
        assertFalse(fetch.isRemoved(1));
    }

    /** A successor takes a dirty page that is absent for zeros, and the home has this one. */
    @Test
    void shouldNotCountFetchedPageAsDirtyWhenItMayBeAbsent() {
        kernel.before = () -> assertEquals(PageTable.FETCHING, table.state(PAGE));
        kernel.refuse(Errno.EFAULT);
        faults.minor(PAGE, 0);

        assertEquals(PageTable.FETCHING, table.state(PAGE));
        assertEquals(List.of("continue 5"), kernel.calls);
    }

    @Test
    void shouldContinueFetchWhenPageCannotBeMappedYet() {
        kernel.refuse(Errno.EAGAIN);
        faults.minor(PAGE, 0);

        assertEquals(PageTable.FETCHING, table.state(PAGE));
        assertFalse(fetch.isRemoved(0));
        assertEquals(0, faults.queue().size(), "its arrival answers the fault");
    }
}
