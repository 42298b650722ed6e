package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is known of the pages that homes have. */
final class PresenceMapTest {
    private static final int[] ENTRIES = {PresenceMap.ZERO, PresenceMap.PRESENT, PresenceMap.WANTED};

    /** Long runs and short ones, by chance. */
    private static int[] entries(int pages, SplittableRandom random) {
        int[] entries = new int[pages];
        for (int page = 0; page < pages; ) {
            int entry = ENTRIES[random.nextInt(3)];
            int end = Math.min(pages, page + 1 + random.nextInt(random.nextBoolean() ? 3 : 40));
            for (; page < end; page++) {
                entries[page] = entry;
            }
        }
        return entries;
    }

    private static PresenceMap map(int[] entries) {
        PresenceMap map = PresenceMap.unknown(entries.length);
        for (int page = 0; page < entries.length; page++) {
            map.set(page, entries[page]);
        }
        return map;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4, 5, 64, 301})
    void shouldKnowEachEntryAndWhereItsRunEnds(int pages) {
        SplittableRandom random = new SplittableRandom(pages);
        for (int round = 0; round < 50; round++) {
            int[] entries = entries(pages, random);
            PresenceMap map = map(entries);
            for (int page = 0; page < pages; page++) {
                assertEquals(entries[page], map.get(page));
                int end = page;
                while (end < pages && entries[end] == entries[page]) {
                    end++;
                }
                assertEquals(end, map.endOfRun(page));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 7, 40})
    void shouldFillAnyRunAndLeaveItsNeighbours(int pages) {
        int[] before = entries(pages, new SplittableRandom(pages));
        for (int first = 0; first <= pages; first++) {
            for (int end = first; end <= pages; end++) {
                for (int entry : ENTRIES) {
                    PresenceMap map = map(before);
                    map.fill(first, end, entry);
                    for (int page = 0; page < pages; page++) {
                        assertEquals(page >= first && page < end ? entry : before[page], map.get(page));
                    }
                }
            }
        }
    }

    @Test
    void shouldSliceAtAnyPage() {
        int[] entries = entries(100, new SplittableRandom(1));
        PresenceMap slice = map(entries).slice(37, 22);
        assertEquals(22, slice.pages());
        for (int page = 0; page < 22; page++) {
            assertEquals(entries[37 + page], slice.get(page));
        }
    }

    @Test
    void shouldSayWhetherAnyPageIsPresent() {
        assertFalse(PresenceMap.zeros(9).isAnyPresent());
        PresenceMap last = PresenceMap.zeros(9);
        last.set(8, PresenceMap.PRESENT);
        assertTrue(last.isAnyPresent());
        assertTrue(PresenceMap.unknown(1).isAnyPresent());
    }

    @Test
    void shouldGiveBackWhatWasWrittenInPieces() {
        int[] entries = entries(100, new SplittableRandom(2));
        byte[] bytes = new byte[8 + 25];
        map(entries).write(0, bytes, 8, 12);
        map(entries).write(48, bytes, 20, 13);
        PresenceMap read = PresenceMap.zeros(100);
        read.read(0, bytes, 8, 12);
        read.read(48, bytes, 20, 13);
        for (int page = 0; page < 100; page++) {
            assertEquals(entries[page], read.get(page));
        }
    }

    @Test
    void shouldKeepOnlyWishesOrOnlyPresence() {
        PresenceMap map = map(new int[] {PresenceMap.ZERO, PresenceMap.PRESENT, PresenceMap.WANTED});
        assertEquals("113", text(map.asWishes()), "none is known to be zeros");
        assertEquals("011", text(map.withoutWishes()), "none is prefetched");
    }

    private static String text(PresenceMap map) {
        StringBuilder text = new StringBuilder();
        for (int page = 0; page < map.pages(); page++) {
            text.append(map.get(page));
        }
        return text.toString();
    }

    @Test
    void shouldDescribeWhatTheHomesHaveOfATable() {
        PageTable table = new PageTable(6, false);
        PageStates.set(table, 1, PageTable.DIRTY);
        PageStates.set(table, 2, PageTable.CLEAN);
        table.set(2, PageTable.HAS_REMOTE_COPY);
        PageStates.set(table, 3, PageTable.REMOTE);
        table.set(3, PageTable.HAS_REMOTE_COPY);
        PageStates.set(table, 4, PageTable.REMOTE);
        table.set(4, PageTable.HAS_REMOTE_COPY);
        table.set(4, PageTable.WANTED);
        table.set(5, PageTable.HAS_REMOTE_COPY);
        PresenceMap map = PresenceMap.unknown(8);
        table.describe(map, 1);
        assertEquals("10031311", text(map), "of the pages around it nothing is known");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeginATableWithWhatTheHomesHave(boolean isKnown) {
        int[] entries = entries(200, new SplittableRandom(3));
        PageTable table = new PageTable(200, true);
        assertTrue(table.begin(isKnown ? map(entries) : map(entries).asWishes()));
        for (int page = 0; page < 200; page++) {
            boolean isZero = isKnown && entries[page] == PresenceMap.ZERO;
            assertEquals(isZero ? PageTable.ZERO : PageTable.REMOTE, table.state(page));
            assertEquals(!isZero, table.has(page, PageTable.HAS_REMOTE_COPY));
            assertEquals(entries[page] == PresenceMap.WANTED, table.isWanted(page));
        }
        assertEquals(200, table.count(PageTable.ZERO) + table.count(PageTable.REMOTE));
        assertFalse(new PageTable(200, true).begin(PresenceMap.unknown(200)), "nothing is wanted");
    }
}
