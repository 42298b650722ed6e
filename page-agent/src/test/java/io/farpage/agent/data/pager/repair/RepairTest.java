package io.farpage.agent.data.pager.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.Joining;
import io.farpage.agent.data.pager.home.JoiningHomes;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How the WRITEs that are under way are noted for homes that join large extents and pull the pages themselves. */
class RepairTest {
    private static final int PAGE = 4096;
    private static final int EXTENT = 2 * Repair.MAX_NOTED;
    private static final SpaceMap.Copy OWN_POOL = new SpaceMap.Copy("a", 1, 0);

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 0);

    private final PageTable table = new PageTable(2 * EXTENT, true);
    private final AddressSpace memory = parts.memory(
            new RecordingKernel(), true, PagerParts.layout(2 * EXTENT, PAGE), table, map(SpaceMap.Pull.AWAITED));
    private final JoiningHomes joinings = memory.context().homes().joinings();
    private final Repair repair = new Repair(memory);

    private static SpaceMap map(SpaceMap.Pull pull) {
        return new SpaceMap("vm", 1, 2 * EXTENT, PAGE, List.of(extent(0, pull), extent(EXTENT, pull)), 0);
    }

    private static SpaceMap.Extent extent(int first, SpaceMap.Pull pull) {
        return new SpaceMap.Extent(
                first, EXTENT, "b", 7, (long) first * PAGE, false, List.of(), 3, Optional.of(joins(first)), pull);
    }

    private static SpaceMap.Copy joins(int first) {
        return new SpaceMap.Copy("d", 9, (long) first * PAGE);
    }

    @Test
    void shouldBoundEveryDutyCycleWhenHomesJoinLargeExtents() {
        memory.context().homes().refresh();
        long cycles = 0;
        while (joinings.at(0).mustNote() || joinings.at(1).mustNote()) {
            assertTrue(repair.isBusy(), "the shard sleeps although WRITEs are still to be noted");
            int before = noted();
            repair.doWork();
            assertTrue(noted() - before <= Repair.MAX_NOTED, "pages in one duty cycle: " + (noted() - before));
            cycles++;
        }
        assertEquals(2 * EXTENT / Repair.MAX_NOTED, cycles);
        assertFalse(repair.isBusy());
    }

    private int noted() {
        return joinings.at(0).notedUntil() + joinings.at(1).notedUntil();
    }

    @Test
    void shouldNoteAllWritesThatAreUnderWayWhenExtentIsLarge() {
        List<Integer> written = List.of(0, Repair.MAX_NOTED - 1, Repair.MAX_NOTED, EXTENT - 1);
        written.forEach(page -> table.set(page, PageTable.WRITING));
        memory.context().homes().refresh();
        Joining joining = joinings.at(0);
        while (repair.isBusy()) {
            repair.doWork();
        }
        assertTrue(written.stream().allMatch(joining::lacks));
        assertTrue(joining.continues(map(SpaceMap.Pull.DONE), 0, joins(0), 0));
        joining.begin();
        assertEquals(written.size(), joining.left());
    }

    /**
     * The home may have an earlier version of each noted page, whatever has become of it. A page that is being written
     * home is looked at again after that, and nothing is copied before the link to the other home is up. Lost pages
     * alone are not copied.
     */
    @Test
    void shouldLackEveryNotedPageThatIsNotLostUntilItIsCopied() {
        PageTable states = new PageTable(6, true);
        PageStates.set(states, 0, PageTable.CLEAN);
        PageStates.set(states, 1, PageTable.DIRTY);
        PageStates.set(states, 2, PageTable.REMOTE);
        PageStates.set(states, 3, PageTable.ZERO);
        PageStates.set(states, 4, PageTable.DIRTY);
        states.set(4, PageTable.WRITING);
        PageStates.set(states, 5, PageTable.LOST);
        AddressSpace space = parts.memory(
                new RecordingKernel(), true, PagerParts.layout(6, PAGE), states, ownPoolJoins(SpaceMap.Pull.AWAITED));
        space.context().homes().refresh();
        Joining joining = space.context().homes().joinings().at(0);
        joining.note(0, 6);
        joining.noted(6);
        assertTrue(joining.continues(ownPoolJoins(SpaceMap.Pull.DONE), 0, OWN_POOL, 0));
        Repair copying = new Repair(space);
        for (int cycle = 0; cycle < 16; cycle++) {
            copying.doWork();
        }
        assertEquals(
                List.of(true, true, true, true, true, false),
                IntStream.range(0, 6).mapToObj(joining::lacks).toList());
        assertEquals(Joining.State.COPYING, joining.state());
    }

    private static SpaceMap ownPoolJoins(SpaceMap.Pull pull) {
        SpaceMap.Extent extent = new SpaceMap.Extent(0, 6, "b", 7, 0, false, List.of(), 3, Optional.of(OWN_POOL), pull);
        return new SpaceMap("vm", 1, 6, PAGE, List.of(extent), 0);
    }
}
