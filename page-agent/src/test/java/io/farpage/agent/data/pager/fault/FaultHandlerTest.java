package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FrozenPages;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PartialRemovals;
import io.farpage.linux.Errno;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How a fault is resolved in each state of its page. The pages live on this node, so that a fetch is a copy. */
final class FaultHandlerTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 128;
    private static final int SEEN = 1;
    private static final int PREFETCH = 8;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1, PREFETCH);

    private final PageTable table = new PageTable(PAGES, true);
    private final RecordingKernel kernel = new RecordingKernel();
    private final AddressSpace memory =
            parts.memory(kernel, true, PagerParts.layout(PAGES, PAGE), table, PagerParts.map(PAGES, PAGE, "a"));
    private final Installer installer = new Installer(memory, Installer.Sharers.NONE);
    private final Arrivals arrivals = new Arrivals(memory, installer);
    private final Children children = new Children(memory);
    private final Residency residency = new Residency(memory, installer, arrivals, children);
    private final FaultHandler faults = new FaultHandler(memory, installer, arrivals, residency, children);

    private void fill() {
        PageStates.set(table, 0, PagerOptions.MIN_LOCAL_PAGES, PageTable.CLEAN);
    }

    @Test
    void shouldInstallPageWriteProtectedWhenThreadReads() {
        faults.fault(5, false, false, SEEN);
        assertEquals(List.of("copy 5"), kernel.calls);
        assertEquals(PageTable.CLEAN, table.state(5));
    }

    @Test
    void shouldInstallPageWritableWhenThreadWrites() {
        faults.fault(5, true, false, SEEN);
        assertEquals(List.of("copy writable 5"), kernel.calls);
        assertEquals(PageTable.DIRTY, table.state(5));
    }

    /** Otherwise a successor of this agent could take a page for clean that the guest has written to. */
    @Test
    void shouldRecordPageAsDirtyBeforeThreadCanWriteToIt() {
        List<Integer> states = new ArrayList<>();
        kernel.before = () -> states.add(table.state(5));
        PageStates.set(table, 5, PageTable.CLEAN);
        faults.fault(5, true, true, SEEN);
        PageStates.set(table, 5, PageTable.ZERO);
        faults.fault(5, true, false, SEEN);
        PageStates.set(table, 5, PageTable.CLEAN);
        faults.fault(5, false, false, SEEN);
        assertEquals(List.of("unprotect 5", "zero 5", "zero 5"), kernel.calls);
        assertEquals(List.of(PageTable.DIRTY, PageTable.DIRTY, PageTable.DIRTY), states);
    }

    @Test
    void shouldLeavePageAsItWasWhenKernelRefusesToUnprotectOrFillIt() {
        for (int state : new int[] {PageTable.CLEAN, PageTable.EVICTING, PageTable.ZERO}) {
            PageStates.set(table, 5, state);
            kernel.refuse(Errno.EAGAIN);
            faults.fault(5, true, state != PageTable.ZERO, SEEN);
            assertEquals(state, table.state(5));
            table.clear(5, PageTable.QUEUED);
        }
    }

    @Test
    void shouldInstallZerosWithoutFetchWhenPageIsZero() {
        PageStates.set(table, 5, PageTable.ZERO);
        faults.fault(5, false, false, SEEN);
        assertEquals(List.of("zero 5"), kernel.calls);
        assertEquals(PageTable.DIRTY, table.state(5));
    }

    @Test
    void shouldUnprotectCleanPageWhenThreadWrites() {
        PageStates.set(table, 5, PageTable.CLEAN);
        faults.fault(5, true, true, SEEN);
        assertEquals(List.of("unprotect 5"), kernel.calls);
        assertEquals(PageTable.DIRTY, table.state(5));
    }

    @Test
    void shouldSetDirtyWhenThreadWritesToPageThatIsBeingEvicted() {
        PageStates.set(table, 5, PageTable.EVICTING);
        table.set(5, PageTable.WRITING);
        faults.fault(5, true, true, SEEN);
        assertEquals(PageTable.DIRTY, table.state(5), "its write-back does not make it clean");
        assertTrue(table.has(5, PageTable.WRITING));
    }

    @Test
    void shouldPoisonPageInNextDutyCycleWhenItIsLost() {
        PageStates.set(table, 5, PageTable.LOST);
        faults.fault(5, false, false, SEEN);
        assertEquals(List.of(), kernel.calls);
        assertEquals(1, arrivals.install());
        assertEquals(List.of("poison 5"), kernel.calls);
    }

    @Test
    void shouldUnparkGuestWhenItTakesFramesOften() {
        residency.parking().park(PagerOptions.MIN_LOCAL_PAGES);
        for (int page = 0; page < PagerOptions.MIN_LOCAL_PAGES; page++) {
            PageStates.set(table, page, PageTable.ZERO);
            faults.fault(page, true, false, SEEN);
        }
        faults.fault(62, true, false, SEEN);
        assertTrue(residency.parking().isParked(), "a page that is resident takes no frame");
        PageStates.set(table, 0, PageTable.REMOTE);
        faults.fault(100, false, false, SEEN);
        assertFalse(residency.parking().isParked());
    }

    /** Otherwise such a guest would stand still until its removals have expired. */
    @Test
    void shouldServeFaultsOfParkedGuestWhosePagesCannotBeEvicted() {
        int keep = 16;
        residency.parking().park(keep);
        PageStates.set(table, 0, keep, PageTable.DIRTY);
        for (int page = 0; page < keep + 2; page++) {
            table.removePart(page, SEEN);
        }
        faults.fault(100, false, false, SEEN);
        assertEquals(List.of("copy 100"), kernel.calls);
        assertEquals(2 * keep, residency.goal(), "pages that are not resident hold no frame");

        table.partialRemovals().expire(SEEN + PartialRemovals.REMOVAL_NANOS + 1);
        faults.fault(101, false, false, SEEN);
        assertEquals(List.of("copy 100"), kernel.calls);
        assertEquals(keep, residency.goal());
    }

    @Test
    void shouldQueueFaultAtLimitAndServeItWhenPageIsEvicted() {
        fill();
        faults.fault(100, false, false, SEEN);
        assertEquals(List.of(), kernel.calls);
        assertEquals(1, faults.queue().size());
        assertEquals(0, faults.serveQueue());

        PageStates.set(table, 3, PageTable.REMOTE);
        assertEquals(1, faults.serveQueue());
        assertEquals(List.of("copy 100"), kernel.calls);
        assertTrue(faults.queue().isEmpty());
        assertFalse(table.has(100, PageTable.QUEUED));
    }

    @Test
    void shouldWakeThreadOfQueuedFaultWhenPageIsGivenUp() {
        fill();
        faults.fault(100, true, false, SEEN);
        faults.removed(100, 1);
        assertEquals(List.of("wake 100"), kernel.calls);
        assertTrue(faults.queue().isEmpty());
        assertEquals(PageTable.ZERO, table.state(100));
    }

    @Test
    void shouldDiscardGivenUpPageWhenThreadWritesToOldBytes() {
        PageStates.set(table, 5, PageTable.ZERO);
        faults.fault(5, true, true, SEEN);
        assertEquals(List.of("wake 5"), kernel.calls, "the thread faults again and gets zeros");
        assertEquals(PageTable.ZERO, table.state(5));
    }

    @Test
    void shouldQueueFaultWhenEventIsUnread() {
        kernel.refuse(Errno.EAGAIN);
        faults.fault(5, false, false, SEEN);
        assertEquals(1, faults.queue().size());
        assertEquals(PageTable.REMOTE, table.state(5));
        assertEquals(1, faults.serveQueue());
        assertEquals(PageTable.CLEAN, table.state(5));
    }

    /** The kernel changes the mappings before the one that it refuses. */
    @Test
    void shouldLeavePagesDirtyWhenKernelRefusesToUnprotectTheRun() {
        PageStates.set(table, 0, 32, PageTable.CLEAN);
        int page = writeUntilARunIsForeseen();
        kernel.refuse(Errno.ENOENT);
        faults.fault(page, true, true, SEEN);
        String refused = kernel.calls.get(kernel.calls.size() - 2);
        int last = page + Integer.parseInt(refused.substring(refused.indexOf('*') + 1)) - 1;
        assertEquals(PageTable.DIRTY, table.state(last), refused + ", " + kernel.calls.getLast());
        assertEquals(PageTable.CLEAN, table.state(last + 1));
    }

    /** Writes to one page after the other. Returns the first that is still protected. */
    private int writeUntilARunIsForeseen() {
        int page = 0;
        int run = 1;
        while (run < 2) {
            faults.fault(page, true, true, SEEN);
            String call = kernel.calls.getLast();
            run = call.contains("*") ? Integer.parseInt(call.substring(call.indexOf('*') + 1)) : 1;
            page += run;
        }
        return page;
    }

    @Test
    void shouldForgetThatPagesAreProtectedWhenTheirRunIsWritable() {
        PageStates.set(table, 0, 32, PageTable.DIRTY);
        FrozenPages frozen = memory.context().frozen();
        frozen.prepare();
        for (int page = 0; page < 32; page++) {
            frozen.prepared().add(page);
        }
        int protectedFrom = writeUntilARunIsForeseen();
        assertEquals(protectedFrom, frozen.prepared().next(0));
        assertEquals(32 - protectedFrom, frozen.prepared().size());
    }
}
