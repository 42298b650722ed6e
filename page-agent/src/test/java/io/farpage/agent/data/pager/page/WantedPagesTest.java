package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which pages a replay brings back. */
final class WantedPagesTest {
    private static final int PAGES = 300;

    /** Against a search page by page. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldFindMarkedPagesThatAreAtTheirHomes(boolean atHome) {
        SplittableRandom random = new SplittableRandom(1);
        PageTable table = new PageTable(PAGES, atHome);
        for (int page = 0; page < PAGES; page++) {
            PageStates.set(table, page, random.nextInt(7));
            if (random.nextInt(3) == 0) {
                table.set(page, PageTable.WANTED);
            }
            table.set(page, random.nextBoolean() ? PageTable.QUEUED : PageTable.HAS_REMOTE_COPY);
        }
        List<Integer> expected = new ArrayList<>();
        for (int page = 0; page < PAGES; page++) {
            boolean isMarked = table.has(page, PageTable.WANTED);
            if (isMarked && table.state(page) == PageTable.REMOTE) {
                expected.add(page);
            }
            assertEquals(isMarked && table.state(page) == PageTable.REMOTE, table.isWanted(page));
        }
        assertTrue(expected.size() > 3);
        assertEquals(expected, wanted(table));
    }

    private static List<Integer> wanted(PageTable table) {
        List<Integer> wanted = new ArrayList<>();
        for (int page = table.nextWanted(0, PAGES); page < PAGES; page = table.nextWanted(page + 1, PAGES)) {
            wanted.add(page);
        }
        return wanted;
    }

    @Test
    void shouldMarkOnlyWantedPagesThatAreAtTheirHomes() {
        PresenceMap presence = PresenceMap.unknown(PAGES);
        for (int page : List.of(10, 11, 12, 13, 14, 100, 101)) {
            presence.set(page, PresenceMap.WANTED);
        }
        PageTable table = new PageTable(PAGES, true);
        table.neverWritten(12, 1);
        assertTrue(table.begin(presence));
        assertEquals(List.of(10, 11, 13, 14, 100, 101), wanted(table));
    }

    @Test
    void shouldGiveSecondChanceToAWantedPageThatFaulted() {
        PageTable table = new PageTable(PAGES, true);
        table.set(3, PageTable.WANTED);
        PageStates.set(table, 4, PageTable.FETCHING);
        table.setState(3, PageTable.FETCHING);
        table.setState(3, PageTable.CLEAN);
        assertFalse(table.isWanted(3));
        assertTrue(table.has(3, PageTable.REFERENCED));
    }
}
