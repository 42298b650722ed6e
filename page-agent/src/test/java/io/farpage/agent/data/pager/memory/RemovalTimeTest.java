package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PageTable;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How long the other guests of a shard wait for a duty cycle that handles a part of a large removal. */
@Tag("soak")
@Tag("measurement")
class RemovalTimeTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 1 << 26;
    private static final long BASE = RecordingKernel.BASE;
    private static final int REMOVALS = 5;

    private final RecordingKernel kernel = new RecordingKernel();

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 0);

    @Test
    void shouldMeasureLongestDutyCycleWhenRemovalIsLarge() {
        long least = Long.MAX_VALUE;
        for (int removal = 0; removal < REMOVALS; removal++) {
            least = Math.min(least, longestDutyCycle());
        }
        System.out.printf(
                "removal of %d pages: the longest duty cycle took %d us of CPU, the least of %d removals%n",
                PAGES, least / 1_000, REMOVALS);
    }

    /** CPU nanoseconds. */
    private long longestDutyCycle() {
        PageTable table = new PageTable(PAGES, true);
        GuestLayout layout = new GuestLayout(List.of(new GuestRegion(BASE, (long) PAGES * PAGE, 0)), PAGE);
        KernelMessages messages = new KernelMessages(parts.memory(
                kernel, true, layout, new PageTable(0, false), PagerParts.map(1, layout.pageBytes(), "b")));
        Removing removing = new Removing(table);
        kernel.messages = writer -> writer.removal(BASE, BASE + (long) PAGES * PAGE);
        long longest = 0;
        for (int cycle = 0; cycle == 0 || messages.isBehind(); cycle++) {
            long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            messages.read(removing);
            longest = Math.max(longest, ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before);
        }
        assertEquals(PAGES, removing.removed);
        return longest;
    }

    private static final class Removing implements KernelMessages.Receiver {
        private final PageTable table;
        private long removed;

        Removing(PageTable table) {
            this.table = table;
        }

        @Override
        public void removed(int first, int count) {
            removed += count;
            table.setState(first, count, PageTable.ZERO, PageTable.FETCHING);
        }

        @Override
        public void fault(int page, boolean write, boolean writeProtect, long seenAt) {
            throw new AssertionError("fault " + page);
        }

        @Override
        public void minor(int page, long seenAt) {
            throw new AssertionError("minor fault " + page);
        }

        @Override
        public void removedPart(int page) {
            throw new AssertionError("a part of page " + page);
        }

        @Override
        public void forked(int descriptor) {
            throw new AssertionError("fork " + descriptor);
        }
    }
}
