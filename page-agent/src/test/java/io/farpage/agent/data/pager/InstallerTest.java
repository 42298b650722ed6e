package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the table says of a page after the kernel has refused to install it, and whether its thread is woken. */
class InstallerTest {
    private static final long BASE = PagerParts.BASE;
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;
    private static final int PAGES = 8;
    private static final int PAGE = 3;

    private final Kernel kernel = new Kernel();
    private final PageTable table = new PageTable(PAGES, false);
    private long now = 1;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    private Installer installer(int pageBytes, boolean shared) {
        table.setState(PAGE, PageTable.FETCHING);
        return new Installer(parts.memory(kernel, shared, pageBytes, table), Installer.Sharers.NONE);
    }

    @Test
    void shouldSayThatAPageThatIsNotMappedIsAtItsHomeIfItIs() {
        Installer installer = installer(SMALL, true);
        table.set(PAGE, PageTable.HAS_REMOTE_COPY);
        kernel.copyAnswer = -Errno.ENOENT;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.REMOTE, table.state(PAGE));
        assertEquals(List.of(BASE + PAGE * SMALL), kernel.woken);
    }

    @Test
    void shouldSayThatAPageThatIsNotMappedIsZerosIfItsHomeHasNone() {
        Installer installer = installer(SMALL, true);
        kernel.copyAnswer = -Errno.ENOENT;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.ZERO, table.state(PAGE));
    }

    @Test
    void shouldTakeAPageThatIsResidentAlreadyForInstalledAndWakeItsThread() {
        Installer installer = installer(SMALL, true);
        kernel.copyAnswer = -Errno.EEXIST;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertEquals(List.of(BASE + PAGE * SMALL), kernel.woken);
        assertFalse(installer.hostMemory().isPaused());
    }

    @Test
    void shouldNotKeepAPageThatTheGuestHasGivenUpThoughItIsStillResident() {
        Installer installer = installer(SMALL, true);
        table.setState(PAGE, PageTable.ZERO);
        kernel.zeroAnswer = -Errno.EEXIST;
        assertEquals(1, installer.zero(PAGE, 1));
        assertEquals(PageTable.ZERO, table.state(PAGE));
    }

    @Test
    void shouldTryAgainWithoutAPauseWhileAnEventIsUnread() {
        Installer installer = installer(SMALL, true);
        kernel.copyAnswer = -Errno.EAGAIN;
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.FETCHING, table.state(PAGE));
        assertFalse(installer.hostMemory().isPaused());
        assertTrue(kernel.woken.isEmpty());
    }

    @Test
    void shouldPauseForTenMillisecondsOrUntilAPageIsEvictedWhenThereIsNoMemory() {
        Installer installer = installer(SMALL, true);
        table.setState(0, PageTable.DIRTY);
        table.setState(1, PageTable.DIRTY);
        kernel.copyAnswer = -Errno.ENOMEM;
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(1, installer.hostMemory().maxResident(100), "one less than were resident then");
        table.setState(1, PageTable.REMOTE);
        assertFalse(installer.hostMemory().isPaused(), "a page was evicted");
        table.setState(1, PageTable.DIRTY);
        now += 9_999_999;
        assertTrue(installer.hostMemory().isPaused());
        now += 1;
        assertFalse(installer.hostMemory().isPaused());

        kernel.copyAnswer = SMALL;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(100, installer.hostMemory().maxResident(100));
    }

    /** The kernel says EEXIST where it has no hugepage, and of private memory it cannot be asked in another way. */
    @Test
    void shouldPauseWhenThereIsNoHugepageForPrivateMemory() {
        Installer installer = installer(LARGE, false);
        table.set(PAGE, PageTable.HAS_REMOTE_COPY);
        kernel.copyAnswer = -Errno.EEXIST;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(PageTable.REMOTE, table.state(PAGE));
        assertEquals(List.of(BASE + (long) PAGE * LARGE), kernel.woken);
    }

    @Test
    void shouldPauseWhenThereIsNoHugepageForAFile() {
        Installer installer = installer(LARGE, true);
        kernel.copyAnswer = -Errno.EEXIST;
        kernel.continueAnswer = -Errno.EFAULT;
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(installer.hostMemory().isPaused());
        assertEquals(PageTable.FETCHING, table.state(PAGE));
    }

    @ParameterizedTest
    @ValueSource(longs = {LARGE, -Errno.EEXIST})
    void shouldTakeALargePageOfAFileThatIsThereForInstalled(long answer) {
        Installer installer = installer(LARGE, true);
        kernel.copyAnswer = -Errno.EEXIST;
        kernel.continueAnswer = answer;
        assertEquals(1, installer.copy(PAGE, 1, 0, false));
        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertFalse(installer.hostMemory().isPaused());
    }

    @Test
    void shouldSayThatTheAddressSpaceIsGone() {
        AddressSpace memory = parts.memory(kernel, true, SMALL, table);
        Installer installer = new Installer(memory, Installer.Sharers.NONE);
        kernel.copyAnswer = -Errno.ESRCH;
        assertEquals(0, installer.copy(PAGE, 1, 0, false));
        assertTrue(memory.isGone());
    }

    @Test
    void shouldInstallWriteProtectedPagesAsCleanUnlessTheyAreAboutToBeWritten() {
        Installer installer = installer(SMALL, true);
        kernel.copyAnswer = 2 * SMALL;
        assertEquals(2, installer.copy(PAGE, 2, 0, false));
        assertEquals(PageTable.CLEAN, table.state(PAGE));
        assertEquals(PageTable.CLEAN, table.state(PAGE + 1));
        assertEquals(PageTable.ZERO, table.state(PAGE + 2));
        kernel.copyAnswer = SMALL;
        installer.copy(PAGE, 1, 0, true);
        assertEquals(PageTable.DIRTY, table.state(PAGE));
    }

    /** Answers as a test says, and notes which threads it wakes. */
    private static final class Kernel implements PageFaults {
        long copyAnswer;
        long zeroAnswer;
        long continueAnswer;
        final List<Long> woken = new ArrayList<>();

        @Override
        public long copy(long destination, long source, long length, long mode) {
            return copyAnswer;
        }

        @Override
        public long zeropage(long start, long length) {
            return zeroAnswer;
        }

        @Override
        public long continueAt(long start, long length) {
            return continueAnswer;
        }

        @Override
        public PageFaults child(int descriptor) {
            throw new AssertionError("nobody forks");
        }

        @Override
        public void close() {}

        @Override
        public int wake(long start, long length) {
            woken.add(start);
            return 0;
        }

        @Override
        public int fd() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int read(UffdMessages messages) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long poison(long start, long length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int writeProtect(long start, long length, boolean protect) {
            throw new UnsupportedOperationException();
        }
    }
}
