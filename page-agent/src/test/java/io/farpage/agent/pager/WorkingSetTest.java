package io.farpage.agent.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkingSetTest {
    @Test
    void shouldCutRunsWhereASliceBeginsAndEnds() {
        WorkingSet all = of(40, 0, 1, 2, 3, 10, 11, 12, 13, 14, 30);
        assertEquals(
                List.of(1, 2, 3, 10, 11),
                pages(all.slice(1, 11)).stream().map(p -> p + 1).toList());
        assertEquals(List.of(), pages(all.slice(15, 15)));
        assertEquals(List.of(0), pages(all.slice(30, 10)));
        assertEquals(pages(all), pages(all.slice(0, 40)));
    }

    @Test
    void shouldJoinWhatWasCut() {
        WorkingSet all = of(300, 0, 5, 6, 7, 99, 100, 101, 200, 250);
        WorkingSet joined = WorkingSet.EMPTY
                .with(all.slice(0, 100), 0)
                .with(all.slice(100, 101), 100)
                .with(all.slice(201, 99), 201);
        assertEquals(pages(all), pages(joined));
        assertEquals(all.pages(), joined.pages());
    }

    private static WorkingSet of(int pages, int... resident) {
        PageTable table = new PageTable(pages, false);
        for (int page : resident) {
            table.become(page, PageTable.DIRTY);
        }
        return WorkingSet.of(table);
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
