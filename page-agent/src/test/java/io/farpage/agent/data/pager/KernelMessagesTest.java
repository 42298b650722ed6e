package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What a turn makes of the messages of a kernel that says anything. */
class KernelMessagesTest {
    private static final int PAGE = 4096;
    private static final long BASE = 1L << 44;
    private static final long TIB = 1L << 40;
    private static final int PAGES_OF_A_TIB = 1 << 28;

    private final Kernel kernel = new Kernel();
    private final Received received = new Received();
    private long now;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    private GuestLayout layout = new GuestLayout(List.of(new GuestRegion(BASE, TIB, 0)), PAGE);

    @Test
    void shouldSpreadTheRemovalOfATebibyteOverManyTurns() {
        KernelMessages messages = messages(true);
        kernel.next = writer -> {
            writer.fault(BASE + 5 * PAGE, false, false);
            writer.removal(BASE, BASE + TIB);
        };
        int turns = 0;
        do {
            long before = received.removed;
            assertTrue(messages.read(received) > 0);
            assertTrue(received.removed - before <= PagerOptions.CYCLE_PAGES);
            turns++;
        } while (messages.isBehind());
        assertEquals(PAGES_OF_A_TIB, received.removed);
        assertEquals(PAGES_OF_A_TIB / PagerOptions.CYCLE_PAGES, turns);
        assertEquals(1, kernel.reads, "nothing more is read until the removal is done with");
        assertEquals(List.of("fault 5"), received.faults, "a fault that was read with it comes after it");
    }

    @Test
    void shouldTakeLessThanAMillisecondForATurnOfALargeRemoval() {
        PageTable table = new PageTable(1 << 26, true);
        layout = new GuestLayout(List.of(new GuestRegion(BASE, (1L << 26) * PAGE, 0)), PAGE);
        KernelMessages messages = messages(true);
        received.table = table;
        kernel.next = writer -> writer.removal(BASE, BASE + TIB);
        long longest = 0;
        for (int turn = 0; turn == 0 || messages.isBehind(); turn++) {
            long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            assertTrue(messages.read(received) > 0);
            long took = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
            // The first turns are interpreted.
            longest = turn < 200 ? 0 : Math.max(longest, took);
        }
        assertEquals(1 << 26, table.count(PageTable.ZERO));
        assertTrue(longest < TimeUnit.MILLISECONDS.toNanos(1), "a turn took " + longest / 1_000 + " us");
    }

    @Test
    void shouldGiveUpOnlyPagesThatLieWithinARemovalAsAWhole() {
        long large = 2 << 20;
        layout = new GuestLayout(List.of(new GuestRegion(BASE, 8 * large, 0)), (int) large);
        kernel.next = writer -> {
            writer.removal(BASE + PAGE, BASE + 2 * PAGE);
            writer.removal(BASE + 2 * large + large / 2, BASE + 5 * large + PAGE);
            writer.removal(BASE + 6 * large, BASE + 7 * large);
        };
        messages(true).read(received);
        assertEquals(List.of(0, 2, 5), received.cuts);
        assertEquals(3, received.removed);
    }

    @Test
    void shouldCutAnUnmappedRangeToWhatIsRegistered() {
        KernelMessages messages = messages(true);
        kernel.next = writer -> writer.unmapping(BASE + TIB - PAGE, BASE + 16 * TIB);
        assertEquals(1, messages.read(received));
        assertFalse(messages.isBehind());
        assertEquals(0, received.removed, "the file keeps its pages");
        assertEquals(GuestLayout.NONE, layout.addressOf(PAGES_OF_A_TIB - 1));
        assertEquals(BASE, layout.addressOf(0));
        assertEquals(List.of("wake " + (BASE + TIB - PAGE)), kernel.calls, "threads that waited there find out");
    }

    @Test
    void shouldGiveUpUnmappedPagesOfPrivateMemoryInSlices() {
        KernelMessages messages = messages(false);
        kernel.next = writer -> writer.unmapping(BASE + TIB / 2, BASE + 16 * TIB);
        int turns = 0;
        do {
            assertNotEquals(GuestLayout.NONE, layout.addressOf(PAGES_OF_A_TIB - 1), "mapped as long as it has pages");
            messages.read(received);
            turns++;
        } while (messages.isBehind());
        assertEquals(PAGES_OF_A_TIB / 2, received.removed);
        assertTrue(turns >= PAGES_OF_A_TIB / 2 / PagerOptions.CYCLE_PAGES);
        assertEquals(GuestLayout.NONE, layout.addressOf(PAGES_OF_A_TIB - 1));
    }

    /** A child that is forked after a removal must not inherit what was removed. */
    @Test
    void shouldPassOnAForkWhenTheRemovalBeforeItIsDone() {
        KernelMessages messages = messages(true);
        kernel.next = writer -> {
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
    void shouldReadAgainWhenAReadWasInterrupted() {
        KernelMessages messages = messages(true);
        kernel.error = Errno.EINTR;
        assertEquals(0, messages.read(received));
        assertEquals(0, messages.failure());
        kernel.error = 0;
        kernel.next = writer -> writer.fault(BASE, false, false);
        assertEquals(1, messages.read(received));
    }

    @Test
    void shouldWaitForADescriptorWhenThereIsNoneForAChild() {
        KernelMessages messages = messages(true);
        kernel.error = Errno.EMFILE;
        assertEquals(0, messages.read(received));
        assertEquals(0, messages.failure());
        assertEquals(-1, messages.fd(), "a descriptor that is readable all the time would keep the shard awake");
        assertEquals(0, messages.read(received));
        assertEquals(1, kernel.reads, "not before the pause is over");
        now += TimeUnit.SECONDS.toNanos(1);
        kernel.error = 0;
        kernel.next = writer -> writer.fork(5);
        assertEquals(kernel.fd(), messages.fd());
        assertEquals(1, messages.read(received));
        assertEquals(List.of(5), received.forks);
    }

    @Test
    void shouldGiveUpOnADescriptorThatCannotBeRead() {
        KernelMessages messages = messages(true);
        kernel.error = Errno.EINVAL;
        assertEquals(0, messages.read(received));
        assertEquals(Errno.EINVAL, messages.failure());
    }

    private KernelMessages messages(boolean shared) {
        return new KernelMessages(parts.memory(
                kernel, shared, layout, new PageTable(0, false), PagerParts.map(1, layout.pageBytes(), "b")));
    }

    /** Hears what the pager would. */
    private static final class Received implements KernelMessages.Receiver {
        private final List<String> faults = new ArrayList<>();
        private final List<Integer> forks = new ArrayList<>();
        private final List<Integer> cuts = new ArrayList<>();
        private PageTable table = new PageTable(0, false);
        private long removed;

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
            if (table.pages() > 0) {
                table.setState(first, count, PageTable.ZERO, PageTable.FETCHING);
            }
        }

        @Override
        public void cut(int page) {
            cuts.add(page);
        }

        @Override
        public void forked(int descriptor) {
            forks.add(descriptor);
        }
    }

    /** Says what the test has it say. */
    private static final class Kernel implements PageFaults {
        private final List<String> calls = new ArrayList<>();
        private Consumer<MessageWriter> next = writer -> {};
        private int error;
        private int reads;

        @Override
        public int fd() {
            return 9;
        }

        @Override
        public int read(UffdMessages messages) {
            reads++;
            if (error != 0) {
                return -error;
            }
            MessageWriter writer = new MessageWriter(messages);
            next.accept(writer);
            next = nothing -> {};
            return writer.count();
        }

        @Override
        public long copy(long destination, long source, long length, long mode) {
            throw new AssertionError("copy");
        }

        @Override
        public long zeropage(long start, long length) {
            throw new AssertionError("zeropage");
        }

        @Override
        public long continueAt(long start, long length) {
            throw new AssertionError("continue");
        }

        @Override
        public long poison(long start, long length) {
            throw new AssertionError("poison");
        }

        @Override
        public int writeProtect(long start, long length, boolean protect) {
            throw new AssertionError("writeprotect");
        }

        @Override
        public int wake(long start, long length) {
            calls.add("wake " + start);
            return 0;
        }

        @Override
        public PageFaults child(int descriptor) {
            throw new AssertionError("child");
        }

        @Override
        public void close() {}
    }
}
