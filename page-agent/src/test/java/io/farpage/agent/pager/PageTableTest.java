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

    private static long pagesOf(PageTable table, int kind) {
        long count = 0;
        for (int page = 0; page < table.pages(); page++) {
            count += table.kind(page) == kind ? 1 : 0;
        }
        return count;
    }
}
