package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.linux.Errno;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A child that shares the memory takes the place of a VMM that has ended. */
final class ChildrenTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 128;
    private static final int DESCRIPTOR = 5;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final PageTable table = new PageTable(PAGES, true);
    private final RecordingKernel kernel = new RecordingKernel();
    private AddressSpace memory = memory(true);
    private Children children = new Children(memory);

    private AddressSpace memory(boolean shared) {
        return parts.memory(kernel, shared, PagerParts.layout(PAGES, PAGE), table, PagerParts.map(PAGES, PAGE, "a"));
    }

    /** The VMM forks; returns the kernel's side of the child. */
    private RecordingKernel fork() {
        RecordingKernel child = new RecordingKernel();
        kernel.forks.add(child);
        Installer installer = new Installer(memory, children);
        Arrivals arrivals = new Arrivals(memory, installer);
        Residency residency = new Residency(memory, installer, arrivals, children);
        children.forked(DESCRIPTOR, memory, new FaultHandler(memory, installer, arrivals, residency, children));
        return child;
    }

    private void endVmm() {
        kernel.refuse(Errno.ESRCH);
        memory.probe();
        assertTrue(memory.isGone());
        kernel.calls.clear();
    }

    @Test
    void shouldSendRequestsToTheChildWhenItReplacesTheVmm() {
        RecordingKernel child = fork();
        endVmm();

        assertTrue(children.succeed());

        assertSame(child, memory.uffd());
        assertFalse(memory.isGone(), "the memory is that of a process that lives");
        memory.wake(3);
        assertEquals(List.of("wake 3"), child.calls);
        assertEquals(List.of(), kernel.calls);
        assertTrue(children.isEmpty());
    }

    @Test
    void shouldKnowTheSuccessorsMappingsWhenItReplacesTheVmm() {
        RecordingKernel child = fork();
        child.messages = to -> to.unmapping(PagerParts.BASE, PagerParts.BASE + 4L * PAGE);
        assertNotEquals(0, children.doWork());
        assertNotEquals(GuestLayout.NONE, memory.layout().addressOf(3), "the VMM has it mapped");
        endVmm();

        assertTrue(children.succeed());

        assertEquals(GuestLayout.NONE, memory.layout().addressOf(3));
        assertEquals(PagerParts.BASE + 4L * PAGE, memory.layout().addressOf(4));
    }

    @Test
    void shouldEndAgainWhenTheSuccessorEnds() {
        RecordingKernel child = fork();
        endVmm();
        assertTrue(children.succeed());

        child.refuse(Errno.ESRCH);
        memory.probe();

        assertTrue(memory.isGone());
        assertFalse(children.succeed());
    }

    @Test
    void shouldReplaceTheVmmByTheChildThatWasForkedFirst() {
        RecordingKernel first = fork();
        RecordingKernel second = fork();
        endVmm();

        assertTrue(children.succeed());
        assertSame(first, memory.uffd());
        assertEquals(1, children.count());
        assertTrue(children.share(), "the second child may write to pages unnoticed");

        assertTrue(children.succeed());
        assertSame(second, memory.uffd());
    }

    @Test
    void shouldMarkPagesDirtyThatTheSuccessorMayHaveWrittenAsAChild() {
        RecordingKernel child = fork();
        PageStates.set(table, 7, PageTable.CLEAN);
        endVmm();

        assertTrue(children.succeed());
        while (children.markCleanDirty() > 0) {
            assertSame(child, memory.uffd());
        }

        assertEquals(PageTable.DIRTY, table.state(7));
        assertFalse(children.share());
    }

    @Test
    void shouldNotReplaceAVmmThatHasNoChild() {
        endVmm();
        assertFalse(children.succeed());
        assertTrue(memory.isGone());
        assertSame(kernel, memory.uffd());
    }

    @Test
    void shouldNotReplaceTheVmmByAChildThatHasItsOwnMemory() {
        memory = memory(false);
        children = new Children(memory);
        fork();
        endVmm();
        assertFalse(children.succeed());
        assertTrue(memory.isGone());
    }
}
