package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PageTableTest {
    private static final int STATES = 7;
    private static final int PAGES = 50;

    @Test
    void shouldCountPagesByStateWhenStatesChange() {
        SplittableRandom random = new SplittableRandom(1);
        PageTable table = new PageTable(PAGES, false);
        for (int i = 0; i < 10_000; i++) {
            PageStates.set(table, random.nextInt(PAGES), random.nextInt(STATES));
            for (int state = 0; state < STATES; state++) {
                assertEquals(pagesOf(table, state), table.count(state));
            }
            assertEquals(
                    pagesOf(table, PageTable.CLEAN)
                            + pagesOf(table, PageTable.DIRTY)
                            + pagesOf(table, PageTable.EVICTING),
                    table.resident());
        }
    }

    @Test
    void shouldKeepFlagsWhenStateChanges() {
        PageTable table = new PageTable(1, true);
        table.set(0, PageTable.WRITING | PageTable.QUEUED);
        for (int state = 0; state < STATES; state++) {
            PageStates.set(table, 0, state);
            assertEquals(state, table.state(0));
            assertTrue(table.has(0, PageTable.WRITING));
            assertTrue(table.has(0, PageTable.HAS_REMOTE_COPY));
            assertTrue(table.has(0, PageTable.QUEUED));
            assertFalse(table.has(0, PageTable.REFERENCED));
        }
        table.clear(0, PageTable.QUEUED);
        assertFalse(table.has(0, PageTable.QUEUED));
        assertTrue(table.has(0, PageTable.WRITING));
    }

    @Test
    void shouldEndVictimWithState() {
        PageTable table = new PageTable(1, true);
        for (int state :
                new int[] {PageTable.ZERO, PageTable.FETCHING, PageTable.LOST, PageTable.CLEAN, PageTable.DIRTY}) {
            PageStates.set(table, 0, PageTable.REMOTE);
            table.set(0, PageTable.VICTIM);
            assertTrue(table.isVictim(0));
            assertEquals(1, table.count(PageTable.REMOTE));
            PageStates.set(table, 0, state);
            assertFalse(table.has(0, PageTable.VICTIM), "after state " + state);
            assertEquals(0, table.stranded());
        }
    }

    @Test
    void shouldBeginRemoteWhenHomesHavePages() {
        PageTable written = new PageTable(PAGES, true);
        assertEquals(PAGES, written.count(PageTable.REMOTE));
        assertTrue(written.has(PAGES - 1, PageTable.HAS_REMOTE_COPY));
        PageTable fresh = new PageTable(PAGES, false);
        assertEquals(PAGES, fresh.count(PageTable.ZERO));
        assertFalse(fresh.has(PAGES - 1, PageTable.HAS_REMOTE_COPY));
    }

    @Test
    void shouldFindUnsavedPageAtAnyPositionInWord() {
        for (boolean atHome : new boolean[] {false, true}) {
            for (int page = 0; page < PAGES; page++) {
                PageTable table = new PageTable(PAGES, atHome);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                PageStates.set(table, page, PageTable.CLEAN);
                table.set(page, PageTable.REFERENCED | PageTable.QUEUED);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                assertEquals(page, table.nextResident(0, PAGES));
                assertEquals(page, table.nextTouched(0, PAGES));
                assertEquals(PAGES, table.nextResident(page + 1, PAGES));
                assertEquals(page, table.nextResident(0, page));
                assertEquals(PAGES, table.nextDirty(0, PAGES));
                PageStates.set(table, page, PageTable.DIRTY);
                assertEquals(page, table.nextUnsaved(0, PAGES));
                assertEquals(page, table.nextDirty(0, PAGES));
                assertEquals(PAGES, table.nextDirty(page + 1, PAGES));
                PageStates.set(table, page, PageTable.EVICTING);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                table.set(page, PageTable.WRITING);
                assertEquals(page, table.nextUnsaved(0, PAGES));
                table.clear(page, PageTable.WRITING | PageTable.HAS_REMOTE_COPY);
                PageStates.set(table, page, PageTable.ZERO);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                table.set(page, PageTable.HAS_REMOTE_COPY);
                assertEquals(page, table.nextUnsaved(0, PAGES));
                assertEquals(PAGES, table.nextDirty(0, PAGES));
            }
        }
    }

    @Test
    void shouldFindPageThatIsWrittenAtAnyPositionInWord() {
        for (boolean atHome : new boolean[] {false, true}) {
            for (int page = 0; page < PAGES; page++) {
                PageTable table = new PageTable(PAGES, atHome);
                PageStates.set(table, page, PageTable.DIRTY);
                assertEquals(PAGES, table.nextWriting(0, PAGES));
                table.set(page, PageTable.WRITING);
                assertEquals(page, table.nextWriting(0, PAGES));
                assertEquals(page, table.nextWriting(page, PAGES));
                assertEquals(PAGES, table.nextWriting(page + 1, PAGES));
                assertEquals(page, table.nextWriting(0, page));
            }
        }
    }

    @Test
    void shouldCountStrandedPagesWhileTheyAreResident() {
        PageTable table = new PageTable(PAGES, true);
        PageStates.set(table, 3, PageTable.CLEAN);
        PageStates.set(table, 4, PageTable.EVICTING);
        table.strand(3);
        table.strand(4);
        assertEquals(2, table.stranded());
        assertEquals(PageTable.DIRTY, table.state(3));
        assertEquals(PageTable.EVICTING, table.state(4));
        assertEquals(2, table.resident());
        table.setState(0, 8, PageTable.ZERO, PageTable.FETCHING);
        assertEquals(0, table.stranded());
        assertEquals(8, table.count(PageTable.ZERO));
        assertEquals(PAGES - 8, table.count(PageTable.REMOTE));
        PageStates.set(table, 3, PageTable.DIRTY);
        assertEquals(0, table.stranded());
        table.strand(3);
        assertEquals(1, table.stranded());
        table.clear(3, PageTable.STRANDED);
        assertEquals(0, table.stranded());
        assertEquals(1, table.resident());
    }

    private static long pagesOf(PageTable table, int state) {
        long count = 0;
        for (int page = 0; page < table.pages(); page++) {
            count += table.state(page) == state ? 1 : 0;
        }
        return count;
    }

    /**
     * Three generations, each changed at random while its children still copy from it, beside plain copies made at the
     * fork.
     */
    @Test
    void shouldInheritStatesOfForkWhenTablesChangeLater() {
        int pages = 3 * Inheritance.BLOCK_PAGES + 5;
        for (int seed = 0; seed < 20; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<PageTable> tables = new ArrayList<>(List.of(new PageTable(pages, random.nextBoolean())));
            List<int[]> expected = new ArrayList<>(List.of(states(tables.getFirst(), pages)));
            for (int step = 0; step < 400; step++) {
                int which = random.nextInt(tables.size());
                PageTable table = tables.get(which);
                int page = random.nextInt(pages);
                switch (random.nextInt(8)) {
                    case 0 -> {
                        if (tables.size() < 6) {
                            int[] inherited = expected.get(which).clone();
                            Arrays.setAll(
                                    inherited,
                                    i -> inherited[i] == PageTable.FETCHING ? PageTable.REMOTE : inherited[i]);
                            tables.add(new PageTable(table));
                            expected.add(inherited);
                        }
                    }
                    case 1 -> {
                        int count = random.nextInt(pages - page + 1);
                        table.setState(page, count, PageTable.ZERO, PageTable.DIRTY);
                        Arrays.fill(expected.get(which), page, page + count, PageTable.ZERO);
                    }
                    case 2 -> table.inheritBlock();
                    case 3 -> assertEquals(expected.get(which)[page], table.state(page), "seed " + seed);
                    default -> {
                        int state = random.nextInt(STATES);
                        PageStates.set(table, page, state);
                        expected.get(which)[page] = state;
                    }
                }
            }
            for (int i = 0; i < tables.size(); i++) {
                while (tables.get(i).isInheriting()) {
                    tables.get(i).inheritBlock();
                }
            }
            for (int i = 0; i < tables.size(); i++) {
                assertArrayEquals(expected.get(i), states(tables.get(i), pages), "seed " + seed + ", table " + i);
                for (int state = 0; state < STATES; state++) {
                    int counted = state;
                    assertEquals(
                            IntStream.of(expected.get(i))
                                    .filter(each -> each == counted)
                                    .count(),
                            tables.get(i).count(state));
                }
            }
        }
    }

    /** A parent that ends, and a child that ends, before all is copied. */
    @Test
    void shouldInheritWhenParentHasEnded() {
        int pages = 300 * Inheritance.BLOCK_PAGES;
        PageTable parent = new PageTable(pages, false);
        PageStates.set(parent, pages - 1, PageTable.DIRTY);
        PageTable ended = new PageTable(parent);
        PageTable child = new PageTable(parent);
        ended.discard();
        parent.discard();
        assertEquals(PageTable.DIRTY, child.state(pages - 1));
        assertFalse(ended.isInheriting());
    }

    @Test
    void shouldCopyOneBlockPerCallWhenInheriting() {
        int pages = 4 * Inheritance.BLOCK_PAGES;
        PageTable parent = new PageTable(pages, false);
        PageStates.set(parent, 0, pages, PageTable.DIRTY);
        PageTable child = new PageTable(parent);
        for (int blocks = 0; blocks <= 4; blocks++) {
            assertEquals((long) blocks * Inheritance.BLOCK_PAGES, child.count(PageTable.DIRTY));
            assertEquals(blocks < 4 ? 1 : 0, child.inheritBlock());
        }
    }

    private static int[] states(PageTable table, int pages) {
        return IntStream.range(0, pages).map(table::state).toArray();
    }
}
