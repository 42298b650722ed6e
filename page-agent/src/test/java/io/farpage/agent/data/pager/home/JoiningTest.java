package io.farpage.agent.data.pager.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.PeerLink;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a home lacks that joins an extent and pulls the pages. */
class JoiningTest {
    private static final int PAGES = 70;
    private static final SpaceMap.Copy JOINS = new SpaceMap.Copy("d", 9, 0);

    private static SpaceMap map(SpaceMap.Pull pull) {
        return map(PAGES, pull);
    }

    private static SpaceMap map(int pages, SpaceMap.Pull pull) {
        return new SpaceMap(
                "vm",
                1,
                pages,
                4096,
                List.of(new SpaceMap.Extent(0, pages, "b", 7, 0, false, List.of(), 3, Optional.of(JOINS), pull)),
                0);
    }

    private static Joining seen(SpaceMap.Pull pull) {
        return new Joining(map(pull), 0, PAGES, JOINS, null, 0);
    }

    private static void follow(Joining joining, SpaceMap.Pull pull) {
        assertTrue(joining.continues(map(pull), 0, JOINS, 1));
    }

    private static List<Integer> lacking(Joining joining) {
        return IntStream.range(0, PAGES).filter(joining::lacks).boxed().toList();
    }

    @Test
    void shouldLackThePagesWrittenUntilTheHomeGetsWrites() {
        Joining joining = seen(SpaceMap.Pull.AWAITED);
        assertTrue(joining.awaitsPull() && joining.mustNote());
        joining.note(3, 2);
        joining.noted(PAGES);
        assertFalse(joining.mustNote());
        joining.note(60, 8);
        follow(joining, SpaceMap.Pull.RUNNING);
        assertFalse(joining.awaitsPull());
        assertEquals(Joining.State.PULLING, joining.state());
        follow(joining, SpaceMap.Pull.DONE);
        assertEquals(Joining.State.WAITING, joining.state());
        joining.note(69, 1);
        joining.begin();
        joining.note(20, 1);
        assertEquals(List.of(3, 4, 60, 61, 62, 63, 64, 65, 66, 67, 69), lacking(joining));
        assertEquals(11, joining.left());
    }

    @Test
    void shouldFailWhenThePullBeginsBeforeAllWritesAreNoted() {
        Joining joining = seen(SpaceMap.Pull.AWAITED);
        joining.noted(PAGES / 2);
        assertTrue(joining.mustNote());
        follow(joining, SpaceMap.Pull.RUNNING);
        assertEquals(Joining.State.FAILED, joining.state(), "a WRITE may have ended unseen");
        assertFalse(joining.mustNote());
        follow(joining, SpaceMap.Pull.AWAITED);
        follow(joining, SpaceMap.Pull.DONE);
        assertEquals(Joining.State.FAILED, joining.state());
    }

    @Test
    void shouldGetNoWriteDuringThePull() {
        Joining joining = seen(SpaceMap.Pull.AWAITED);
        assertFalse(joining.isWritten());
        follow(joining, SpaceMap.Pull.RUNNING);
        assertFalse(joining.isWritten());
    }

    @Test
    void shouldCompleteNoWriteThatAReadyHomeHasMissed() {
        Home home = new Home(1, new PeerLink("d"), 1);
        Joining joining = new Joining(map(SpaceMap.Pull.AWAITED), 0, PAGES, JOINS, home, 0);
        joining.noted(PAGES);
        follow(joining, SpaceMap.Pull.DONE);
        joining.begin();
        joining.ready();
        assertEquals(
                FetchStatus.UNREACHABLE,
                joining.judge(FetchStatus.PENDING, 2, 1, FetchStatus.OK),
                "begun before the home got WRITEs");
        assertEquals(FetchStatus.DEADLINE, joining.judge(FetchStatus.DEADLINE, 2, 1, FetchStatus.OK));
        assertEquals(Joining.State.READY, joining.state());
    }

    @Test
    void shouldFailWhenThePagerSeesItAfterThePullBegan() {
        for (SpaceMap.Pull first : List.of(SpaceMap.Pull.RUNNING, SpaceMap.Pull.DONE)) {
            Joining joining = seen(first);
            assertEquals(Joining.State.FAILED, joining.state(), first::toString);
            assertFalse(joining.awaitsPull() || joining.mustNote() || joining.isWritten(), first::toString);
            follow(joining, SpaceMap.Pull.DONE);
            assertEquals(Joining.State.FAILED, joining.state(), first::toString);
        }
    }

    /** The shard makes it when a map names the home, and begins the copy, between the faults of its guests. */
    @Test
    void shouldTakeNoMemoryInProportionToALargeExtent() {
        int pages = 1 << 28;
        SpaceMap seen = map(pages, SpaceMap.Pull.AWAITED);
        SpaceMap pulled = map(pages, SpaceMap.Pull.DONE);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        Joining joining = new Joining(seen, 0, pages, JOINS, null, 0);
        joining.noted(pages);
        assertTrue(joining.continues(pulled, 0, JOINS, 1));
        joining.begin();
        long taken = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals(0, joining.left());
        assertTrue(taken < pages / Long.SIZE, taken + " bytes");
    }
}
