package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.page.PageCensus.Where;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PageCensusTest {
    private static final int STATES = 7;

    @Test
    void shouldCountAsOneByOneWhenTablesOfAnySizeFollowEachOther() {
        long seed = Long.getLong("farpage.seed", 7);
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 60; round++) {
            List<PageTable> tables = IntStream.range(0, 1 + random.nextInt(3))
                    .mapToObj(one -> randomTable(random))
                    .toList();
            long pages = tables.stream().mapToLong(PageTable::pages).sum();
            PageCensus census = new PageCensus(pages);
            int[] states = new int[(int) pages];
            int first = 0;
            for (PageTable table : tables) {
                census.add(table, first);
                for (int page = 0; page < table.pages(); page++) {
                    states[first++] = table.state(page);
                }
            }
            assertEquals(Math.min(256, pages), census.parts());
            check(census, states, Where.RESIDENT, state -> state >= PageTable.CLEAN);
            check(census, states, Where.DIRTY, state -> state == PageTable.DIRTY || state == PageTable.EVICTING);
            check(census, states, Where.REMOTE, state -> state == PageTable.REMOTE || state == PageTable.FETCHING);
            check(census, states, Where.ZERO, state -> state == PageTable.ZERO);
            check(census, states, Where.LOST, state -> state == PageTable.LOST);
        }
    }

    private static PageTable randomTable(SplittableRandom random) {
        int pages = 1 + random.nextInt(3000);
        PageTable table = new PageTable(pages, random.nextBoolean());
        int changes = random.nextInt(2 * pages);
        for (int change = 0; change < changes; change++) {
            int page = random.nextInt(pages);
            PageStates.set(table, page, random.nextInt(STATES));
            if (table.isResident(page) && random.nextInt(4) == 0) {
                table.strand(page);
            }
            if (random.nextBoolean()) {
                table.set(page, PageTable.WRITING | PageTable.REFERENCED | PageTable.QUEUED);
            }
        }
        return table;
    }

    private static void check(PageCensus census, int[] states, Where where, IntPredicate isThere) {
        for (int part = 0; part < census.parts(); part++) {
            int from = (int) ((long) states.length * part / census.parts());
            int end = (int) ((long) states.length * (part + 1) / census.parts());
            long there = IntStream.range(from, end)
                    .filter(at -> isThere.test(states[at]))
                    .count();
            assertEquals(
                    Math.ceilDiv(100 * there, (long) (end - from)),
                    census.percent(where, part),
                    "%s in part %d of %d pages".formatted(where, part, states.length));
        }
    }

    @Test
    void shouldCountEvenlySpacedPagesOfAGuestOfATebibyte() {
        int pages = 1 << 28;
        PageTable table = new PageTable(pages, false);
        int half = pages / 512;
        PageStates.set(table, 0, half, PageTable.REMOTE);
        PageCensus census = new PageCensus(pages);
        long began = System.nanoTime();
        census.add(table, 0);
        System.out.printf("a census of 2^28 pages took %.1f ms%n", (System.nanoTime() - began) / 1e6);
        assertEquals(50, census.percent(Where.REMOTE, 0));
        assertEquals(50, census.percent(Where.ZERO, 0));
        assertTrue(IntStream.range(1, census.parts()).allMatch(part -> census.percent(Where.ZERO, part) == 100));
        table.discard();
    }
}
