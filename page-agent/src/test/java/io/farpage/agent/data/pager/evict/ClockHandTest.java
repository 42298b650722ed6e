package io.farpage.agent.data.pager.evict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Which page the hand stops at. Pages of "a" live on this node, and can be evicted; the link to "b" is down. */
final class ClockHandTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 16;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final PageTable table = new PageTable(PAGES, true);

    private ClockHand hand(String... nodes) {
        ClockHand hand = new ClockHand(memory(PagerParts.map(PAGES, PAGE, nodes)), 8);
        hand.begin();
        return hand;
    }

    private AddressSpace memory(SpaceMap map) {
        return parts.memory(new RecordingKernel(), true, PagerParts.layout(PAGES, PAGE), table, map);
    }

    private void resident(int state, int... pages) {
        for (int page : pages) {
            PageStates.set(table, page, state);
        }
    }

    @Test
    void shouldFindCleanAndDirtyPagesInOrder() {
        resident(PageTable.CLEAN, 3);
        resident(PageTable.DIRTY, 7);
        resident(PageTable.EVICTING, 5);
        ClockHand hand = hand("a");
        assertEquals(3, hand.victim());
        hand.passRun(3, 1);
        assertEquals(7, hand.victim());
    }

    @Test
    void shouldPassPageOnceWhenItHasFaulted() {
        resident(PageTable.CLEAN, 3, 7);
        table.set(3, PageTable.REFERENCED);
        ClockHand hand = hand("a");
        assertEquals(7, hand.victim(), "3 has faulted since the hand came by");
        hand.passRun(7, 1);
        PageStates.set(table, 7, PageTable.REMOTE);
        assertEquals(3, hand.victim(), "in the next lap it has not");
    }

    @Test
    void shouldPassPagesThatAreBeingWrittenStrandedOrPartlyRemoved() {
        resident(PageTable.DIRTY, 1, 2, 3, 4);
        table.set(1, PageTable.WRITING);
        table.strand(2);
        table.removePart(3, 1);
        assertEquals(4, hand("a").victim());
    }

    @Test
    void shouldJoinNeighboursWhenTheyAreInSameState() {
        resident(PageTable.CLEAN, 2, 3, 4, 6);
        resident(PageTable.DIRTY, 5);
        ClockHand hand = hand("a");
        assertEquals(2, hand.victim());
        assertEquals(2, hand.passRun(2, 2), "no more than were asked for");
        assertEquals(4, hand.victim());
        assertEquals(1, hand.passRun(4, 8), "5 is dirty");
    }

    @Test
    void shouldEndRunWhereAnotherHomeBegins() {
        resident(PageTable.CLEAN, 6, 7, 8, 9);
        ClockHand hand = hand("a", "a");
        assertEquals(6, hand.victim());
        assertEquals(2, hand.passRun(6, 8));
    }

    @Test
    void shouldSkipPagesWhenLinkToHomeIsDown() {
        resident(PageTable.CLEAN, 1, 2);
        resident(PageTable.DIRTY, 3, 12);
        ClockHand hand = hand("b", "a");
        assertEquals(12, hand.victim());
        assertTrue(hand.hasSkipped());
        assertFalse(hand.hasLapped());
    }

    @Test
    void shouldStrandPagesWhenHomeIsLost() {
        resident(PageTable.CLEAN, 1, 9);
        List<SpaceMap.Extent> extents = new ArrayList<>();
        extents.add(new SpaceMap.Extent(0, 8, "b", 1, 0, true, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE));
        extents.add(new SpaceMap.Extent(8, 8, "a", 1, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE));
        ClockHand hand = new ClockHand(memory(new SpaceMap("test", 1, PAGES, PAGE, extents, 0)), 8);
        hand.begin();
        assertEquals(9, hand.victim());
        assertTrue(table.has(1, PageTable.STRANDED));
        assertEquals(1, table.stranded());
    }

    @Test
    void shouldReportLapWhenTwoRoundsFindNoVictim() {
        resident(PageTable.CLEAN, 1);
        ClockHand hand = hand("b");
        assertEquals(ClockHand.NO_VICTIM, hand.victim());
        assertTrue(hand.hasLapped());
    }
}
