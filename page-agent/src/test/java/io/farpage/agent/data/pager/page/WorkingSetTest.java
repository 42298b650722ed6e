package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkingSetTest {
    @Test
    void shouldSplitRunsWhenSliceBeginsOrEndsWithinThem() {
        WorkingSet all = of(40, 0, 1, 2, 3, 10, 11, 12, 13, 14, 30);
        assertEquals(
                List.of(1, 2, 3, 10, 11),
                pages(all.slice(1, 11)).stream().map(p -> p + 1).toList());
        assertEquals(List.of(), pages(all.slice(15, 15)));
        assertEquals(List.of(0), pages(all.slice(30, 10)));
        assertEquals(pages(all), pages(all.slice(0, 40)));
    }

    @Test
    void shouldRestoreWorkingSetWhenSlicesAreJoined() {
        WorkingSet all = of(300, 0, 5, 6, 7, 99, 100, 101, 200, 250);
        WorkingSet joined = WorkingSet.EMPTY
                .with(all.slice(0, 100), 0)
                .with(all.slice(100, 101), 100)
                .with(all.slice(201, 99), 201);
        assertEquals(pages(all), pages(joined));
    }

    @Test
    void shouldKeepLongestRunsWhenThereAreTooMany() {
        int pages = 16 * WorkingSet.MAX_RUNS;
        PageTable table = new PageTable(pages, false);
        for (int page = 0; page < pages; page += 4) {
            PageStates.set(table, page, PageTable.DIRTY);
        }
        for (int page = pages / 2; page < pages / 2 + 300; page++) {
            PageStates.set(table, page, PageTable.CLEAN);
        }
        WorkingSet set = all(table);
        assertTrue(set.runs() <= WorkingSet.MAX_RUNS, set.runs() + " runs");
        assertTrue(pages(set).containsAll(List.of(pages / 2, pages / 2 + 299)));
    }

    @Test
    void shouldFindSameRunsWhenScanIsSplit() {
        PageTable table = new PageTable(1000, true);
        for (int page : new int[] {0, 7, 8, 9, 63, 64, 65, 500, 998, 999}) {
            PageStates.set(table, page, PageTable.DIRTY);
        }
        WorkingSet.Scan scan = new WorkingSet.Scan(table);
        while (!scan.isDone()) {
            int examined = scan.doWork(7);
            assertTrue(examined > 0 && examined <= 7, examined + " pages"); // goes on where it stopped
        }
        assertEquals(pages(all(table)), pages(scan.found()));
        assertEquals(10, pages(scan.found()).size());
    }

    private static WorkingSet all(PageTable table) {
        WorkingSet.Scan scan = new WorkingSet.Scan(table);
        assertEquals(table.pages(), scan.doWork(table.pages()));
        assertTrue(scan.isDone());
        return scan.found();
    }

    private static WorkingSet of(int pages, int... resident) {
        PageTable table = new PageTable(pages, false);
        for (int page : resident) {
            PageStates.set(table, page, PageTable.DIRTY);
        }
        return all(table);
    }

    private static List<Integer> pages(WorkingSet set) {
        List<Integer> pages = new ArrayList<>();
        for (int run = 0; run < set.runs(); run++) {
            for (int i = 0; i < set.count(run); i++) {
                pages.add(set.first(run) + i);
            }
        }
        return pages;
    }
}
