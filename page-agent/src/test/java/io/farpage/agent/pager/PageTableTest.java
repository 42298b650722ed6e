package io.farpage.agent.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PageTableTest {
    private static final int KINDS = 7;
    private static final int PAGES = 50;

    @Test
    void shouldCountThePagesOfEachKind() {
        SplittableRandom random = new SplittableRandom(1);
        PageTable table = new PageTable(PAGES, false);
        for (int i = 0; i < 10_000; i++) {
            table.become(random.nextInt(PAGES), random.nextInt(KINDS));
            for (int kind = 0; kind < KINDS; kind++) {
                assertEquals(pagesOf(table, kind), table.count(kind));
            }
            assertEquals(
                    pagesOf(table, PageTable.CLEAN)
                            + pagesOf(table, PageTable.DIRTY)
                            + pagesOf(table, PageTable.EVICTING),
                    table.resident());
        }
    }

    @Test
    void shouldKeepFlagsWhenAPageGoesSomewhereElse() {
        PageTable table = new PageTable(1, true);
        table.set(0, PageTable.WRITING | PageTable.QUEUED);
        for (int kind = 0; kind < KINDS; kind++) {
            table.become(0, kind);
            assertEquals(kind, table.kind(0));
            assertTrue(table.has(0, PageTable.WRITING));
            assertTrue(table.has(0, PageTable.HOMED));
            assertTrue(table.has(0, PageTable.QUEUED));
            assertFalse(table.has(0, PageTable.REFERENCED));
        }
        table.clear(0, PageTable.QUEUED);
        assertFalse(table.has(0, PageTable.QUEUED));
        assertTrue(table.has(0, PageTable.WRITING));
    }

    @Test
    void shouldBeginWithWhatTheHomesHave() {
        PageTable written = new PageTable(PAGES, true);
        assertEquals(PAGES, written.count(PageTable.REMOTE));
        assertTrue(written.has(PAGES - 1, PageTable.HOMED));
        PageTable fresh = new PageTable(PAGES, false);
        assertEquals(PAGES, fresh.count(PageTable.ZERO));
        assertFalse(fresh.has(PAGES - 1, PageTable.HOMED));
    }

    @Test
    void shouldFindWhatIsNotSavedWhereverItIsInAWord() {
        for (boolean atHome : new boolean[] {false, true}) {
            for (int page = 0; page < PAGES; page++) {
                PageTable table = new PageTable(PAGES, atHome);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                table.become(page, PageTable.CLEAN);
                table.set(page, PageTable.REFERENCED | PageTable.QUEUED);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                assertEquals(page, table.nextResident(0, PAGES));
                assertEquals(page, table.nextTouched(0, PAGES));
                assertEquals(PAGES, table.nextResident(page + 1, PAGES));
                assertEquals(page, table.nextResident(0, page));
                table.become(page, PageTable.DIRTY);
                assertEquals(page, table.nextUnsaved(0, PAGES));
                table.become(page, PageTable.EVICTING);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                table.set(page, PageTable.WRITING);
                assertEquals(page, table.nextUnsaved(0, PAGES));
                table.clear(page, PageTable.WRITING | PageTable.HOMED);
                table.become(page, PageTable.ZERO);
                assertEquals(PAGES, table.nextUnsaved(0, PAGES));
                table.set(page, PageTable.HOMED);
                assertEquals(page, table.nextUnsaved(0, PAGES));
            }
        }
    }

    @Test
    void shouldCountStrandedPagesOnlyWhileTheyAreResident() {
        PageTable table = new PageTable(PAGES, true);
        table.become(3, PageTable.CLEAN);
        table.become(4, PageTable.EVICTING);
        table.strand(3);
        table.strand(4);
        assertEquals(2, table.stranded());
        assertEquals(PageTable.DIRTY, table.kind(3));
        assertEquals(PageTable.EVICTING, table.kind(4));
        assertEquals(2, table.resident());
        table.become(0, 8, PageTable.ZERO, PageTable.FETCHING);
        assertEquals(0, table.stranded());
        assertEquals(8, table.count(PageTable.ZERO));
        assertEquals(PAGES - 8, table.count(PageTable.REMOTE));
        table.become(3, PageTable.DIRTY);
        assertEquals(1, table.stranded());
        table.clear(3, PageTable.STRANDED);
        assertEquals(0, table.stranded());
        assertEquals(1, table.resident());
    }

    private static long pagesOf(PageTable table, int kind) {
        long count = 0;
        for (int page = 0; page < table.pages(); page++) {
            count += table.kind(page) == kind ? 1 : 0;
        }
        return count;
    }
}
