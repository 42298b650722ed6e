package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.Errno;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How messages of the kernel are handled in duty cycles. */
class KernelMessagesTest {
    private static final int PAGE = 4096;
    private static final long BASE = RecordingKernel.BASE;
    private static final long GIB = 1L << 30;
    private static final long TIB = 1L << 40;
    private static final long BUDGET_NANOS = TimeUnit.MICROSECONDS.toNanos(10);
    private static final int PAGES_OF_A_TIB = 1 << 28;

    private final RecordingKernel kernel = new RecordingKernel();
    private final Received received = new Received();
    private long now;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    private GuestLayout layout = new GuestLayout(List.of(new GuestRegion(BASE, TIB, 0)), PAGE);

    @Test
    void shouldHandleRemovalInManyDutyCyclesWhenItCoversATebibyte() {
        KernelMessages messages = messages(true);
        kernel.messages = writer -> {
            writer.fault(BASE + 5 * PAGE, false, false);
            writer.removal(BASE, BASE + TIB);
        };
        int cycles = 0;
        do {
            long before = received.removed;
            assertTrue(messages.read(received) > 0);
            assertTrue(received.removed - before <= PagerOptions.CYCLE_PAGES);
            cycles++;
        } while (messages.isBehind());
        assertEquals(PAGES_OF_A_TIB, received.removed);
        assertEquals(PAGES_OF_A_TIB / PagerOptions.CYCLE_PAGES, cycles);
        assertEquals(1, kernel.reads, "no message is read until the removal is handled");
        assertEquals(List.of("fault 5"), received.faults, "a fault of the same batch is handled after the removal");
    }

    /**
     * A budget takes 10 us of the shard's time, so 16 GiB take 82 ms on an idle shard. One budget each would take 8192
     * duty cycles.
     */
    @Test
    void shouldHandleRemovalForHalfMillisecondWhenShardIsBusy() {
        assertEquals(1 + 164, dutyCyclesOfRemoval(BASE + 16 * GIB, TimeUnit.MILLISECONDS.toNanos(1)));
    }

    @Test
    void shouldHandleRemovalNoLongerThanShardDidOtherWork() {
        long budgets = 4L * 1024 * 1024 / PagerOptions.CYCLE_PAGES;
        for (int fitting = 1; fitting <= 3; fitting++) {
            long others = fitting * BUDGET_NANOS + BUDGET_NANOS / 2;
            long cycles = 1 + (budgets - 1 + fitting - 1) / fitting;
            assertEquals(cycles, dutyCyclesOfRemoval(BASE + 16 * GIB, others));
        }
    }

    @Test
    void shouldHandleOneBudgetInEachDutyCycleWhenShardIsIdle() {
        assertEquals(4096 / PagerOptions.CYCLE_PAGES, dutyCyclesOfRemoval(BASE + 4096 * PAGE, 0));
        assertEquals(4096 / PagerOptions.CYCLE_PAGES, dutyCyclesOfRemoval(BASE + 4096 * PAGE, BUDGET_NANOS / 2));
    }

    /** @param others nanoseconds that the shard takes for other work between two duty cycles */
    private int dutyCyclesOfRemoval(long end, long others) {
        KernelMessages messages = messages(true);
        received.onRemoved = () -> now += BUDGET_NANOS;
        kernel.messages = writer -> writer.removal(BASE, end);
        now += TimeUnit.SECONDS.toNanos(1); // in which nothing was read
        int cycles = 0;
        for (; cycles == 0 || messages.isBehind(); cycles++) {
            long before = now;
            messages.read(received);
            long longest = cycles == 0 ? 0 : Math.min(others, KernelMessages.MORE_NANOS);
            assertTrue(now - before <= Math.max(BUDGET_NANOS, longest), "neighbours wait longer than they took");
            now += others;
        }
        return cycles;
    }

    /** What a duty cycle does is bounded, whatever the CPU makes of it; see {@link RemovalTimeTest} for the time. */
    @Test
    void shouldChangeNoMorePagesThanBudgetWhenRemovalIsLarge() {
        int pages = 1 << 18;
        PageTable table = new PageTable(pages, true);
        PageStates.set(table, 0, pages, PageTable.DIRTY);
        layout = new GuestLayout(List.of(new GuestRegion(BASE, (long) pages * PAGE, 0)), PAGE);
        KernelMessages messages = messages(true);
        received.table = table;
        kernel.messages = writer -> writer.removal(BASE, BASE + TIB);
        int cycles = 0;
        do {
            long before = table.count(PageTable.ZERO);
            long calls = received.removals;
            assertTrue(messages.read(received) > 0);
            assertEquals(1, received.removals - calls, "a duty cycle removes one run of pages");
            assertEquals(PagerOptions.CYCLE_PAGES, table.count(PageTable.ZERO) - before);
            cycles++;
        } while (messages.isBehind());
        assertEquals(pages, table.count(PageTable.ZERO));
        assertEquals(pages / PagerOptions.CYCLE_PAGES, cycles);
    }

    @Test
    void shouldRemoveOnlyWholePagesWhenRemovalEndsWithinPages() {
        long large = 2 << 20;
        layout = new GuestLayout(List.of(new GuestRegion(BASE, 8 * large, 0)), (int) large);
        kernel.messages = writer -> {
            writer.removal(BASE + PAGE, BASE + 2 * PAGE);
            writer.removal(BASE + 2 * large + large / 2, BASE + 5 * large + PAGE);
            writer.removal(BASE + 6 * large, BASE + 7 * large);
        };
        messages(true).read(received);
        assertEquals(List.of(0, 2, 5), received.partlyRemoved);
        assertEquals(3, received.removed);
    }

    @Test
    void shouldHandleOnlyRegisteredPartWhenUnmappedRangeIsLarger() {
        KernelMessages messages = messages(true);
        kernel.messages = writer -> writer.unmapping(BASE + TIB - PAGE, BASE + 16 * TIB);
        assertEquals(1, messages.read(received));
        assertFalse(messages.isBehind());
        assertEquals(0, received.removed, "the file keeps its pages");
        assertEquals(GuestLayout.NONE, layout.addressOf(PAGES_OF_A_TIB - 1));
        assertEquals(BASE, layout.addressOf(0));
        assertEquals(
                List.of("wake " + (PAGES_OF_A_TIB - 1) + "*" + (15L * PAGES_OF_A_TIB + 1)),
                kernel.calls,
                "threads that wait for unmapped pages fault again");
    }

    /** The kernel queues the event after it has moved the memory, so another thread may fault there before. */
    @Test
    void shouldWakeThreadsThatFaultedAtNewAddressBeforeMoveWasRead() {
        KernelMessages messages = messages(true);
        long to = BASE + 4 * TIB;
        kernel.messages = writer -> writer.fault(to + 5 * PAGE, false, false);
        messages.read(received);
        assertEquals(List.of(), received.faults, "the memory is still where it was");
        kernel.messages = writer -> writer.move(BASE, to, TIB);
        messages.read(received);
        assertEquals(
                List.of("wake 0*" + PAGES_OF_A_TIB, "wake " + 4L * PAGES_OF_A_TIB + "*" + PAGES_OF_A_TIB),
                kernel.calls);
        kernel.messages = writer -> writer.fault(to + 5 * PAGE, false, false);
        messages.read(received);
        assertEquals(List.of("fault 5"), received.faults, "a thread that is woken faults again");
    }

    @Test
    void shouldRemovePagesInManyDutyCyclesWhenPrivateMemoryIsUnmapped() {
        KernelMessages messages = messages(false);
        kernel.messages = writer -> writer.unmapping(BASE + TIB / 2, BASE + 16 * TIB);
        int cycles = 0;
        do {
            assertNotEquals(
                    GuestLayout.NONE,
                    layout.addressOf(PAGES_OF_A_TIB - 1),
                    "pages stay in the layout until they are removed");
            messages.read(received);
            cycles++;
        } while (messages.isBehind());
        assertEquals(PAGES_OF_A_TIB / 2, received.removed);
        assertTrue(cycles >= PAGES_OF_A_TIB / 2 / PagerOptions.CYCLE_PAGES);
        assertEquals(GuestLayout.NONE, layout.addressOf(PAGES_OF_A_TIB - 1));
    }

    /** A child that is forked after a removal must not inherit what was removed. */
    @Test
    void shouldPassForkOnWhenEarlierRemovalIsHandled() {
        KernelMessages messages = messages(true);
        kernel.messages = writer -> {
            writer.removal(BASE, BASE + 3L * PagerOptions.CYCLE_PAGES * PAGE);
            writer.fork(77);
        };
        while (received.forks.isEmpty()) {
            messages.read(received);
        }
        assertEquals(List.of(77), received.forks);
        assertEquals(3L * PagerOptions.CYCLE_PAGES, received.removed);
    }

    @Test
    void shouldReadAgainWhenReadIsInterrupted() {
        KernelMessages messages = messages(true);
        kernel.readError = Errno.EINTR;
        assertEquals(0, messages.read(received));
        assertEquals(0, messages.failure());
        kernel.readError = 0;
        kernel.messages = writer -> writer.fault(BASE, false, false);
        assertEquals(1, messages.read(received));
    }

    @Test
    void shouldPauseWhenNoDescriptorIsFreeForChild() {
        KernelMessages messages = messages(true);
        kernel.readError = Errno.EMFILE;
        assertEquals(0, messages.read(received));
        assertEquals(0, messages.failure());
        assertEquals(-1, messages.fd(), "a descriptor that is readable all the time would keep the shard awake");
        assertEquals(0, messages.read(received));
        assertEquals(1, kernel.reads, "no message is read before the pause is over");
        now += TimeUnit.SECONDS.toNanos(1);
        kernel.readError = 0;
        kernel.messages = writer -> writer.fork(5);
        assertEquals(kernel.fd(), messages.fd());
        assertEquals(1, messages.read(received));
        assertEquals(List.of(5), received.forks);
    }

    @Test
    void shouldReportFailureWhenDescriptorCannotBeRead() {
        KernelMessages messages = messages(true);
        kernel.readError = Errno.EINVAL;
        assertEquals(0, messages.read(received));
        assertEquals(Errno.EINVAL, messages.failure());
    }

    private KernelMessages messages(boolean shared) {
        return new KernelMessages(parts.memory(
                kernel, shared, layout, new PageTable(0, false), PagerParts.map(1, layout.pageBytes(), "b")));
    }

    /** Records what the pager would receive. */
    private static final class Received implements KernelMessages.Receiver {
        private final List<String> faults = new ArrayList<>();
        private final List<Integer> forks = new ArrayList<>();
        private final List<Integer> partlyRemoved = new ArrayList<>();
        private PageTable table = new PageTable(0, false);
        private long removed;
        private long removals;
        private Runnable onRemoved = () -> {};

        @Override
        public void fault(int page, boolean write, boolean writeProtect, long seenAt) {
            faults.add("fault " + page);
        }

        @Override
        public void minor(int page, long seenAt) {
            faults.add("minor " + page);
        }

        @Override
        public void removed(int first, int count) {
            removed += count;
            removals++;
            onRemoved.run();
            if (table.pages() > 0) {
                table.setState(first, count, PageTable.ZERO, PageTable.FETCHING);
            }
        }

        @Override
        public void removedPart(int page) {
            partlyRemoved.add(page);
        }

        @Override
        public void forked(int descriptor) {
            forks.add(descriptor);
        }
    }
}
