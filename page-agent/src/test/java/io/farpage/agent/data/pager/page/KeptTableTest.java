package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.MessageWriter;
import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.memory.KernelMessages;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PresentPages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Where the memory of a guest is mapped after its VMM has unmapped and moved parts of it, and its agent was killed at
 * some moment of that.
 */
class KeptTableTest {
    private static final int PAGE = 4096;
    private static final int LARGE = 2 << 20;
    private static final int PAGES = 16;
    private static final long BASE = RecordingKernel.BASE;
    private static final long AWAY = BASE + (1L << 30);
    private static final List<GuestRegion> WHOLE = List.of(new GuestRegion(BASE, (long) PAGES * PAGE, 0));

    /** Nothing is in the file. */
    private static final PresentPages HOLE = new PresentPages() {
        @Override
        public long nextData(long offset) {
            return -Errno.ENXIO;
        }

        @Override
        public long nextHole(long offset) {
            return offset;
        }
    };

    /** All pages are in the file. */
    private static final PresentPages DATA = new PresentPages() {
        @Override
        public long nextData(long offset) {
            return offset;
        }

        @Override
        public long nextHole(long offset) {
            return (long) PAGES * LARGE;
        }
    };

    private final MemorySegment entries = Arena.ofAuto().allocate(PAGES, 8);
    private final MemorySegment messages = Arena.ofAuto().allocate(KeptTable.MESSAGES_BYTES, 8);
    private final MemorySegment layouts = Arena.ofAuto().allocate(400, 8);
    private final KeptTable kept = new KeptTable(entries, messages, layouts);
    private final RecordingKernel kernel = new RecordingKernel();

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final GuestLayout layout = new GuestLayout(WHOLE, PAGE);
    private final PageTable table = kept.table(PAGES, false, 1);
    private final KernelMessages agent =
            new KernelMessages(parts.memory(kernel, true, layout, table, PagerParts.map(PAGES, PAGE, "b")), kept);

    /** The agent reads messages and handles them. */
    private void handle(Consumer<MessageWriter> sent) {
        kernel.messages = sent;
        assertTrue(agent.read(new Receiver(table)) > 0);
    }

    /** Pages that messages give up are zeros. */
    private record Receiver(PageTable table) implements KernelMessages.Receiver {
        @Override
        public void fault(int page, boolean write, boolean writeProtect, long seenAt) {}

        @Override
        public void minor(int page, long seenAt) {}

        @Override
        public void removed(int first, int count) {
            table.setState(first, count, PageTable.ZERO, PageTable.FETCHING);
        }

        @Override
        public void removedPart(int page) {
            table.removePart(page, 1);
        }

        @Override
        public void forked(int descriptor) {}
    }

    /** What a successor begins with, of the memory as it is now. */
    private KeptTable successor() {
        KeptTable left = new KeptTable(entries, messages, layouts);
        assertEquals(Optional.empty(), left.obstacle(PAGES, PAGE, false));
        assertEquals(Optional.empty(), left.adopt(WHOLE, PAGE, HOLE, false));
        return left;
    }

    private static long addressOf(KeptTable of, int page) {
        return new GuestLayout(of.regions(WHOLE), PAGE).addressOf(page);
    }

    @Test
    void shouldKnowWhereMemoryIsWhenVmmHasUnmappedAndMovedParts() {
        handle(to -> to.unmapping(BASE + 14 * PAGE, BASE + 16 * PAGE));
        handle(to -> {
            to.move(BASE + 2 * PAGE, AWAY, 4 * PAGE);
            to.move(AWAY + PAGE, AWAY + 100 * PAGE, PAGE);
        });
        KeptTable left = successor();
        assertEquals(BASE + PAGE, addressOf(left, 1));
        assertEquals(AWAY, addressOf(left, 2));
        assertEquals(AWAY + 100 * PAGE, addressOf(left, 3));
        assertEquals(AWAY + 2 * PAGE, addressOf(left, 4));
        assertEquals(GuestLayout.NONE, addressOf(left, 14));
        assertEquals(addressOf(left, 3), addressOf(successor(), 3), "a successor that is killed leaves the same");
    }

    /**
     * Before it is applied, after that, and after it was blanked: the memory is moved once, and what comes behind is
     * applied where it is then.
     */
    @Test
    void shouldMoveMemoryOnceWhenAgentIsKilledWhileItHandlesTheMove() {
        for (int moment = 0; moment < 3; moment++) {
            layouts.fill((byte) 0);
            messages.fill((byte) 0);
            entries.fill((byte) 0);
            entries.set(JAVA_BYTE, 3, (byte) (PageTable.REMOTE | PageTable.HAS_REMOTE_COPY));
            entries.set(JAVA_BYTE, 9, (byte) (PageTable.REMOTE | PageTable.HAS_REMOTE_COPY));
            KeptTable killed = new KeptTable(entries, messages, layouts);
            MessageWriter writer = new MessageWriter(killed.messages());
            // Where the move ends, other pages were.
            writer.move(BASE + 2 * PAGE, BASE + 8 * PAGE, 4 * PAGE);
            writer.removal(BASE + 9 * PAGE, BASE + 10 * PAGE);
            if (moment > 0) {
                GuestLayout moved = new GuestLayout(WHOLE, PAGE);
                moved.moved(BASE + 2 * PAGE, BASE + 8 * PAGE, 4 * PAGE);
                killed.mapped(moved.list(), 0);
            }
            if (moment > 1) {
                killed.messages().clear(0);
            }
            KeptTable left = successor();
            assertEquals(BASE + 8 * PAGE, addressOf(left, 2), "moment " + moment);
            assertEquals(GuestLayout.NONE, addressOf(left, 8), "moment " + moment);
            PageTable adopted = left.table(PAGES, false, 1);
            assertEquals(PageTable.ZERO, adopted.state(3), "page 3 was given up where it was moved to");
            assertEquals(PageTable.REMOTE, adopted.state(9), "page 9 was not");
        }
    }

    /** A move after which a removal is applied elsewhere, and a successor that is killed when it has applied both. */
    @Test
    void shouldMoveMemoryOnceWhenSuccessorIsKilledToo() {
        MessageWriter writer = new MessageWriter(kept.messages());
        writer.move(BASE + 2 * PAGE, BASE + 4 * PAGE, 4 * PAGE);
        writer.removal(BASE + 2 * PAGE, BASE + 3 * PAGE);
        PresentPages killing = new PresentPages() {
            @Override
            public long nextData(long offset) {
                throw new IllegalStateException("killed");
            }

            @Override
            public long nextHole(long offset) {
                throw new IllegalStateException("killed");
            }
        };
        KeptTable killed = new KeptTable(entries, messages, layouts);
        assertThrows(IllegalStateException.class, () -> killed.adopt(WHOLE, PAGE, killing, false));
        KeptTable left = successor();
        assertEquals(BASE + 4 * PAGE, addressOf(left, 2));
        assertEquals(BASE + 7 * PAGE, addressOf(left, 5));
    }

    /** A message of the next batch has the same index as one that was applied. */
    @Test
    void shouldApplyMessageOfNextBatchWhenAgentIsKilledBefore() {
        handle(to -> to.move(BASE, AWAY, PAGE));
        new MessageWriter(kept.messages()).move(AWAY, BASE, PAGE);
        assertEquals(BASE, addressOf(successor(), 0));
    }

    /** A successor does not know of a thread that waits at the old address. */
    @Test
    void shouldWakeThreadsWhereTheyWaitWhenMemoryIsMoved() {
        handle(to -> to.move(BASE, AWAY, PAGE));
        assertEquals(List.of("wake 0", "wake " + (AWAY - BASE) / PAGE), kernel.calls);
        KeptTable left = successor();
        left.wake(kernel, left.regions(WHOLE));
        long from = 1 << 20;
        long until = (1L << 47) - PAGE;
        assertEquals("wake %d*%d".formatted((from - BASE) / PAGE, (until - from) / PAGE), kernel.calls.getLast());
    }

    /**
     * The kernel fills the part with zeros at some moment after the agent was killed. The page must not be taken for
     * clean, nor evicted meanwhile.
     *
     * @param isApplied whether the agent has applied and blanked the message
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldHoldLargePageWhenAPartOfItIsGivenUp(boolean isApplied) {
        PageTable left = kept.table(PAGES, false, 1);
        PageStates.set(left, 3, PageTable.CLEAN);
        PageStates.set(left, 4, PageTable.CLEAN);
        new MessageWriter(kept.messages()).removal(BASE + 3L * LARGE + PAGE, BASE + 3L * LARGE + 2 * PAGE);
        if (isApplied) {
            left.removePart(3, 1);
            kept.messages().clear(0);
        }
        KeptTable successor = new KeptTable(entries, messages, layouts);
        List<GuestRegion> large = List.of(new GuestRegion(BASE, (long) PAGES * LARGE, 0));
        assertEquals(Optional.empty(), successor.adopt(large, LARGE, DATA, false));
        PageTable adopted = successor.table(PAGES, false, 1);
        assertEquals(PageTable.DIRTY, adopted.state(3));
        assertTrue(adopted.isPartlyRemoved(3));
        assertEquals(PageTable.CLEAN, adopted.state(4));
        assertFalse(adopted.isPartlyRemoved(4));
    }

    /** The agent was killed between a change of the file and the change of the table that belongs to it. */
    @Test
    void shouldDecideByWhatMemoryFileHasWhenAgentIsKilled() {
        List<Integer> states = List.of(
                PageTable.ZERO,
                PageTable.REMOTE,
                PageTable.FETCHING,
                PageTable.CLEAN,
                PageTable.DIRTY,
                PageTable.EVICTING);
        assertEquals(
                List.of(
                        PageTable.ZERO,
                        PageTable.REMOTE,
                        PageTable.ZERO,
                        PageTable.REMOTE,
                        PageTable.ZERO,
                        PageTable.ZERO),
                adopted(states, HOLE));
        assertEquals(
                List.of(
                        PageTable.ZERO,
                        PageTable.DIRTY,
                        PageTable.DIRTY,
                        PageTable.CLEAN,
                        PageTable.DIRTY,
                        PageTable.DIRTY),
                adopted(states, DATA));
    }

    @Test
    void shouldKeepMarksOfWantedPagesWhenAgentIsKilled() {
        PageTable left = kept.table(PAGES, false, 1);
        PageStates.set(left, 0, 4, PageTable.REMOTE);
        left.set(1, PageTable.WANTED);
        left.set(3, PageTable.WANTED);
        KeptTable successor = new KeptTable(entries, messages, layouts);
        assertEquals(Optional.empty(), successor.adopt(WHOLE, PAGE, HOLE, false));
        PageTable adopted = successor.table(PAGES, false, 1);
        assertEquals(1, adopted.nextWanted(0, PAGES));
        assertEquals(3, adopted.nextWanted(2, PAGES));
        assertEquals(PAGES, adopted.nextWanted(4, PAGES));
    }

    private List<Integer> adopted(List<Integer> states, PresentPages file) {
        PageTable left = kept.table(PAGES, false, 1);
        for (int page = 0; page < states.size(); page++) {
            PageStates.set(left, page, states.get(page));
        }
        KeptTable successor = new KeptTable(entries, messages, layouts);
        assertEquals(Optional.empty(), successor.adopt(WHOLE, PAGE, file, false));
        PageTable adopted = successor.table(PAGES, false, 1);
        return IntStream.range(0, states.size()).mapToObj(adopted::state).toList();
    }

    @Test
    void shouldKnowOnlyPagesThatWereCutAShortTimeAgo() {
        PartialRemovals cut = kept.partialRemovals(1);
        cut.add(3, 1);
        cut.add(5, 1);
        cut.add(7, 9);
        cut.expire(PartialRemovals.REMOVAL_NANOS + 5);
        PartialRemovals left = new KeptTable(entries, messages, layouts).partialRemovals(1);
        assertFalse(left.has(3) || left.has(5));
        assertTrue(left.has(7));
    }

    @Test
    void shouldNotBeFollowedWhenMemoryIsInTooManyPieces() {
        int room = new KeptLayout(layouts).capacity();
        assertTrue(room < PAGES / 2, room + " regions");
        for (int i = 1; i < PAGES; i += 2) {
            long from = BASE + (long) i * PAGE;
            handle(to -> to.unmapping(from, from + PAGE));
        }
        assertEquals(
                Optional.of("its VMM has mapped its memory in more than %d pieces".formatted(room)), kept.departure());
        assertEquals(kept.departure(), new KeptTable(entries, messages, layouts).obstacle(PAGES, PAGE, false));
    }

    @Test
    void shouldNotBeFollowedWhenVmmForks() {
        handle(to -> to.fork(7));
        assertEquals(Optional.of("its VMM has forked"), kept.departure());
    }

    @Test
    void shouldRefuseLayoutWhenItIsDamaged() {
        handle(to -> to.move(BASE, AWAY, PAGE));
        layouts.fill((byte) 0x7f);
        assertEquals(
                Optional.of("the list of its mappings is damaged"),
                new KeptTable(entries, messages, layouts).obstacle(PAGES, PAGE, false));
    }
}
