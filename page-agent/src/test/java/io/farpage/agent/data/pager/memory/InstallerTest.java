package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.linux.Errno;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The state of a page after the kernel has refused to install it, and whether its thread is woken. */
class InstallerTest {
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;
    private static final int PAGES = 8;
    private static final int PAGE = 3;

    private final RecordingKernel kernel = new RecordingKernel();
    private final PageTable table = new PageTable(PAGES, false);
    private long now = 1;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    private Installer installer(int pageBytes, boolean shared) {
        PageStates.set(table, PAGE, PageTable.FETCHING);
        return new Installer(parts.memory(kernel, shared, pageBytes, table), Installer.Sharers.NONE);
    }

    @Test
    void shouldSetRemoteWhenPageIsUnmappedAndHomeHasIt() {
        Installer installer = installer(SMALL, true);
        table.set(PAGE, PageTable.HAS_REMOTE_COPY);
        kernel.refuse(Errno.ENOENT);
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.REMOTE, table.state(PAGE));
        assertEquals("wake 3", kernel.calls.getLast());
    }

    @Test
    void shouldSetZeroWhenPageIsUnmappedAndHomeHasNone() {
        Installer installer = installer(SMALL, true);
        kernel.refuse(Errno.ENOENT);
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.ZERO, table.state(PAGE));
    }

    @Test
    void shouldSetDirtyAndWakeThreadWhenPageExists() {
        Installer installer = installer(SMALL, true);
        kernel.refuse(Errno.EEXIST);
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertEquals("wake 3", kernel.calls.getLast());
        assertFalse(installer.hostMemory().isPaused());
    }

    @Test
    void shouldKeepZeroWhenGivenUpPageStillExists() {
        Installer installer = installer(SMALL, true);
        PageStates.set(table, PAGE, PageTable.ZERO);
        kernel.refuse(Errno.EEXIST);
        assertEquals(1, installer.zero(PAGE, 1));
        assertEquals(PageTable.ZERO, table.state(PAGE));
    }

    /** A large page exists in the file: the guest may store to it as soon as it is mapped. */
    @Test
    void shouldRecordPageAsDirtyBeforeItIsMapped() {
        Installer installer = installer(LARGE, true);
        PageStates.set(table, PAGE, PageTable.ZERO);
        List<Integer> states = new ArrayList<>();
        kernel.before = () -> states.add(table.state(PAGE));
        kernel.refuse(Errno.EEXIST);
        assertEquals(1, installer.zero(PAGE, 1));
        assertEquals(List.of(PageTable.DIRTY, PageTable.DIRTY), states);
        assertEquals(PageTable.DIRTY, table.state(PAGE));
    }

    @Test
    void shouldRetryWithoutPauseWhenEventIsUnread() {
        Installer installer = installer(SMALL, true);
        kernel.refuse(Errno.EAGAIN);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.FETCHING, table.state(PAGE));
        assertFalse(installer.hostMemory().isPaused());
        assertEquals(List.of("copy 3"), kernel.calls);
    }

    @Test
    void shouldPauseUntilEvictionOrTenMillisecondsWhenMemoryIsShort() {
        Installer installer = installer(SMALL, true);
        PageStates.set(table, 0, PageTable.DIRTY);
        PageStates.set(table, 1, PageTable.DIRTY);
        kernel.refuse(Errno.ENOMEM);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(1, installer.hostMemory().maxResident(100), "one less than were resident then");
        PageStates.set(table, 1, PageTable.REMOTE);
        assertFalse(installer.hostMemory().isPaused(), "a page was evicted");
        PageStates.set(table, 1, PageTable.DIRTY);
        now += 9_999_999;
        assertTrue(installer.hostMemory().isPaused());
        now += 1;
        assertFalse(installer.hostMemory().isPaused());

        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(100, installer.hostMemory().maxResident(100));
    }

    @Test
    void shouldBeShortOfMemoryWhenThereIsNoneForLong() {
        Installer installer = installer(SMALL, true);
        kernel.refuse(Errno.ENOMEM);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertFalse(installer.hostMemory().isShort());
        now += 100_000_001;
        kernel.refuse(Errno.ENOMEM);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isShort());
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertFalse(installer.hostMemory().isShort());
    }

    @Test
    void shouldEvictAPageForAPagerThatIsShortOfMemory() {
        Installer installer = installer(SMALL, true);
        PageStates.set(table, 0, PageTable.DIRTY);
        PageStates.set(table, 1, PageTable.DIRTY);
        assertEquals(100, installer.hostMemory().maxResident(100));
        installer.hostMemory().give();
        assertEquals(1, installer.hostMemory().maxResident(100), "one less than are resident");
        assertFalse(installer.hostMemory().isPaused(), "its own faults go on");
        assertFalse(installer.hostMemory().isShort());
    }

    /**
     * The kernel answers EEXIST if no hugepage is free, and private memory has no other request that tells the two
     * apart.
     */
    @Test
    void shouldPauseWhenNoHugepageIsFreeForPrivateMemory() {
        Installer installer = installer(LARGE, false);
        table.set(PAGE, PageTable.HAS_REMOTE_COPY);
        kernel.refuse(Errno.EEXIST);
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(PageTable.REMOTE, table.state(PAGE));
        assertEquals("wake 1536*512", kernel.calls.getLast());
    }

    @Test
    void shouldPauseWhenNoHugepageIsFreeForFile() {
        Installer installer = installer(LARGE, true);
        kernel.refuse(Errno.EEXIST, Errno.EFAULT);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(PageTable.FETCHING, table.state(PAGE));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Errno.EEXIST})
    void shouldSetDirtyWhenLargePageOfFileExists(int refusal) {
        Installer installer = installer(LARGE, true);
        kernel.refuse(Errno.EEXIST, refusal);
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertFalse(installer.hostMemory().isPaused());
        assertEquals(
                1,
                kernel.calls.stream()
                        .filter(call -> call.startsWith("continue"))
                        .count(),
                "it is asked once");
    }

    /** The second number is what UFFDIO_CONTINUE answers of a large page: 0 maps it. */
    @ParameterizedTest
    @CsvSource({
        "4096, FETCHING, 0, true, 1",
        "4096, REMOTE, 0, true, 1",
        "4096, ZERO, 0, true, 0",
        "4096, DIRTY, 0, true, 0",
        "4096, FETCHING, 0, false, 0",
        "2097152, FETCHING, 0, true, 1",
        "2097152, REMOTE, 17, true, 1",
        "2097152, FETCHING, 14, true, 0"
    })
    void shouldReportPageThatExistsOnlyIfItIsAtHome(
            int pageBytes, State state, int continued, boolean shared, int reported) {
        AddressSpace memory = parts.memory(kernel, shared, pageBytes, table);
        exists(memory, state, continued);
        assertEquals(reported, memory.context().counters().foreign().get());
    }

    @Test
    void shouldNotReportPageThatExistsWhenVmmFillsPages() {
        AddressSpace memory = parts.filledMemory(kernel, SMALL, table);
        exists(memory, State.FETCHING, 0);
        assertEquals(0, memory.context().counters().foreign().get());
    }

    private void exists(AddressSpace memory, State state, int continued) {
        PageStates.set(table, PAGE, state.number);
        kernel.refuse(Errno.EEXIST, continued);
        new Installer(memory, Installer.Sharers.NONE).copy(PAGE, 1, 0, false);
    }

    enum State {
        ZERO(PageTable.ZERO),
        REMOTE(PageTable.REMOTE),
        FETCHING(PageTable.FETCHING),
        DIRTY(PageTable.DIRTY);

        private final int number;

        State(int number) {
            this.number = number;
        }
    }

    @Test
    void shouldMarkAddressSpaceGoneWhenProcessHasEnded() {
        AddressSpace memory = parts.memory(kernel, true, SMALL, table);
        Installer installer = new Installer(memory, Installer.Sharers.NONE);
        kernel.refuse(Errno.ESRCH);
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(memory.isGone());
    }

    @Test
    void shouldInstallPagesCleanUnlessThreadIsAboutToWrite() {
        PageStates.set(table, PAGE + 1, PageTable.FETCHING);
        Installer installer = installer(SMALL, true);
        assertEquals(2, installer.copy(PAGE, 2, 0, false));
        assertEquals(PageTable.CLEAN, table.state(PAGE));
        assertEquals(PageTable.CLEAN, table.state(PAGE + 1));
        assertEquals(PageTable.ZERO, table.state(PAGE + 2));
        installer.copy(PAGE, 1, 0, true);
        assertEquals(PageTable.DIRTY, table.state(PAGE));
    }
}
