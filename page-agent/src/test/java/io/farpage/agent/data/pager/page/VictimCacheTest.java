package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Which evicted pages are found, and what they hold. A guest of 64 pages whose limit gives it 4 frames. */
final class VictimCacheTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final int FRAMES = 4;
    private static final int LIMIT = 16 * FRAMES;

    private final PageTable table = new PageTable(PAGES, true);
    private final VictimMemory memory = new VictimMemory(2 * FRAMES);
    private final VictimCache victims = new VictimCache(table, memory);
    private final Numbers file = new Numbers();

    VictimCacheTest() {
        victims.fit(LIMIT);
        Arrays.setAll(file.numbers, page -> page + 1000);
    }

    /** A memory file: each page begins with a number. */
    private static final class Numbers implements GuestFile {
        final long[] numbers = new long[PAGES];
        boolean fails;

        @Override
        @SuppressWarnings("restricted") // SAFETY: the frames of a cache.
        public long read(long offset, long address, long length) {
            if (fails) {
                return -Errno.EPERM;
            }
            for (long at = 0; at < length; at += PAGE) {
                MemorySegment.ofAddress(address + at)
                        .reinterpret(PAGE)
                        .set(ValueLayout.JAVA_LONG, 0, numbers[(int) ((offset + at) / PAGE)]);
            }
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            throw new AssertionError("a cache punches nothing");
        }

        @Override
        public long firstPage(long offset, long length) {
            throw new AssertionError("a cache looks for no pages");
        }
    }

    private void evictRun(int first, int count) {
        victims.read(file, (long) first * PAGE, first, count);
        for (int page = first; page < first + count; page++) {
            PageStates.set(table, page, PageTable.REMOTE);
        }
        victims.evicted(first, count);
    }

    private void evict(int page, long number) {
        file.numbers[page] = number;
        evictRun(page, 1);
    }

    @SuppressWarnings("restricted") // SAFETY: a frame of the cache.
    private long number(int page) {
        return MemorySegment.ofAddress(victims.address(page)).reinterpret(PAGE).get(ValueLayout.JAVA_LONG, 0);
    }

    private boolean has(int page) {
        return victims.run(page, 1) > 0;
    }

    @Test
    void shouldHaveContentWhenPageWasEvicted() {
        evict(7, 77);
        assertTrue(has(7));
        assertEquals(77, number(7));
        assertFalse(has(8));
        assertTrue(table.isVictim(7));
        assertEquals(PAGES, table.count(PageTable.REMOTE));
    }

    @Test
    void shouldFindRunWhenPagesWereEvictedTogether() {
        for (int page = 10; page < 13; page++) {
            file.numbers[page] = page;
        }
        evictRun(10, 3);
        assertEquals(3, victims.run(10, PAGES));
        assertEquals(2, victims.run(10, 2));
        assertEquals(2, victims.run(11, PAGES));
        assertEquals(12, number(12));
    }

    @Test
    void shouldNotFindPageWhenItWasElsewhereSince() {
        for (int state : new int[] {PageTable.ZERO, PageTable.FETCHING, PageTable.LOST, PageTable.CLEAN}) {
            evict(3, 33);
            PageStates.set(table, 3, state);
            assertFalse(has(3), () -> "in state " + state);
            PageStates.set(table, 3, PageTable.REMOTE);
            assertFalse(has(3), () -> "at its home after state " + state);
        }
    }

    @Test
    void shouldForgetOldestPageWhenFramesAreUsed() {
        for (int page = 0; page <= FRAMES; page++) {
            evict(page, page + 1);
        }
        assertFalse(has(0));
        assertFalse(table.isVictim(0));
        assertEquals(2, number(1));
        assertEquals(FRAMES + 1, number(FRAMES));
    }

    @Test
    void shouldFillFrameNextWhenItsPageHasReturned() {
        for (int page = 0; page < FRAMES; page++) {
            evict(page, page + 1);
        }
        victims.returned(2, 1);
        PageStates.set(table, 2, PageTable.CLEAN);
        evict(9, 99);
        assertTrue(has(0), "the oldest page is still there");
        assertEquals(99, number(9));
    }

    @Test
    void shouldNotKeepPageOfZeros() {
        file.numbers[21] = 0;
        evictRun(20, 3);
        assertTrue(has(20));
        assertFalse(has(21), "the VMM may have punched it out");
        assertTrue(has(22));
    }

    @Test
    void shouldNotFindOlderContentWhenReadFails() {
        evict(5, 50);
        PageStates.set(table, 5, PageTable.DIRTY);
        file.fails = true;
        evict(5, 51);
        assertFalse(has(5));
    }

    @Test
    void shouldTakeFirstPagesWhenRunIsLongerThanCache() {
        evictRun(30, FRAMES + 3);
        assertEquals(FRAMES, victims.run(30, PAGES));
        assertFalse(has(30 + FRAMES));
    }

    @Test
    void shouldLeaveHalfOfMemoryToOthers() {
        assertEquals(FRAMES, victims.capacity(), "a sixteenth of the limit");
        VictimCache other = new VictimCache(new PageTable(PAGES, true), memory);
        other.fit(LIMIT);
        assertEquals(FRAMES / 2, other.capacity());
    }

    @Test
    void shouldGiveMemoryBackWhenLimitIsNone() {
        evict(1, 1);
        victims.fit(0);
        assertEquals(0, victims.capacity());
        assertFalse(has(1));
        assertFalse(table.isVictim(1));
        victims.fit(LIMIT);
        assertEquals(FRAMES, victims.capacity());
        evict(2, 22);
        assertEquals(22, number(2));
    }

    /** Against a list of pages in the order of their eviction. */
    @Test
    void shouldHaveWhatAListHasAfterManyChanges() {
        SplittableRandom random = new SplittableRandom(1);
        Deque<Integer> order = new ArrayDeque<>();
        Map<Integer, Long> contents = new HashMap<>();
        for (long step = 1; step < 20_000; step++) {
            int page = random.nextInt(PAGES);
            if (random.nextInt(3) > 0) {
                PageStates.set(table, page, PageTable.CLEAN);
                evict(page, step);
                contents.put(page, step);
                order.remove(page);
                order.addLast(page);
                if (order.size() > FRAMES) {
                    contents.remove(order.removeFirst());
                }
            } else if (has(page)) {
                victims.returned(page, 1);
                PageStates.set(table, page, PageTable.CLEAN);
                contents.remove(page);
                order.remove(page);
            }
            for (int each = 0; each < PAGES; each++) {
                assertEquals(contents.containsKey(each), has(each));
                if (has(each)) {
                    assertEquals(contents.get(each), number(each));
                }
            }
        }
    }
}
