package io.farpage.agent.data.pager.evict;

import static io.farpage.agent.data.pager.evict.FrozenGuest.OLD;
import static io.farpage.agent.data.pager.evict.FrozenGuest.PAGES;
import static io.farpage.agent.data.pager.evict.FrozenGuest.WRITTEN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.page.PageTable;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Which pages are written home for a snapshot, and in which order. All homes are this node. */
final class FreezeTest {
    @AutoClose
    private final FrozenGuest guest = new FrozenGuest("a", "a", "a", "a");

    private final PageTable table = guest.table;
    private final Freeze freeze = guest.freeze;

    @Test
    void shouldProtectDirtyPagesAndWriteNoneWhileTheVmmIsPaused() {
        guest.dirty(2, 3, 20);
        PageStates.set(table, 4, PageTable.CLEAN);
        freeze.begin();
        assertEquals(State.FREEZING, guest.state());
        freeze.doWork();
        assertEquals(List.of("protect 2*2", "protect 20"), guest.kernel.calls);
        assertEquals(State.FREEZING, guest.state(), "something may pin the pages");
        freeze.doWork();
        assertEquals(State.SAVING, guest.state());
        assertEquals(3, freeze.status().pages());
        assertEquals(3, freeze.status().left());
        assertTrue(IntStream.of(2, 3, 20).allMatch(guest.frozen::holds));
        assertFalse(guest.frozen.holds(4));
        assertEquals(OLD, guest.home(2));
    }

    @Test
    void shouldWriteOnlyDirtyPagesWhenItSaves() {
        guest.dirty(2, 20);
        PageStates.set(table, 3, PageTable.CLEAN);
        guest.begin();
        assertEquals(State.SAVED, guest.work());
        assertEquals(0, freeze.status().left());
        assertEquals(WRITTEN, guest.home(2));
        assertEquals(WRITTEN, guest.home(20));
        assertEquals(OLD, guest.home(3));
        assertEquals(OLD, guest.home(4));
        assertEquals(PageTable.CLEAN, table.state(2));
        assertFalse(guest.frozen.holds(2), "the guest may write to it");
    }

    @Test
    void shouldNotWriteWhatTheGuestStoresAfterTheMoment() {
        guest.dirty(2);
        guest.begin();
        guest.work();
        guest.content = 9;
        guest.dirty(2, 5);
        assertEquals(State.SAVED, guest.work());
        assertEquals(WRITTEN, guest.home(2));
        assertEquals(OLD, guest.home(5));
    }

    @Test
    void shouldWriteZerosWhenHomeHasOlderVersion() {
        PageStates.set(table, 2, PageTable.ZERO);
        table.set(2, PageTable.HAS_REMOTE_COPY);
        PageStates.set(table, 4, PageTable.ZERO);
        table.clear(4, PageTable.HAS_REMOTE_COPY);
        guest.begin();
        assertFalse(guest.frozen.holds(2), "the guest may write to it");
        assertEquals(1, freeze.status().left());
        guest.dirty(2);
        assertEquals(State.SAVED, guest.work());
        assertEquals(0, guest.home(2), "as it was at the moment");
        assertEquals(OLD, guest.home(4), "a home that has no version of the page holds zeros already");
        assertEquals(PageTable.DIRTY, table.state(2));
        assertTrue(table.has(2, PageTable.HAS_REMOTE_COPY));
    }

    @Test
    void shouldForgetTheCopyOfPagesThatAreStillZeros() {
        PageStates.set(table, 2, PageTable.ZERO);
        table.set(2, PageTable.HAS_REMOTE_COPY);
        guest.begin();
        assertEquals(State.SAVED, guest.work());
        assertEquals(PageTable.ZERO, table.state(2));
        assertFalse(table.has(2, PageTable.HAS_REMOTE_COPY));
    }

    @Test
    void shouldNotWriteAResidentPageOfZerosThatNoHomeHas() {
        guest.content = 0;
        guest.dirty(2, 4);
        table.set(2, PageTable.HAS_REMOTE_COPY);
        table.clear(4, PageTable.HAS_REMOTE_COPY);
        guest.begin();
        assertEquals(State.SAVED, guest.work());
        assertEquals(0, guest.home(2));
        assertEquals(OLD, guest.home(4));
        assertFalse(table.has(4, PageTable.HAS_REMOTE_COPY));
    }

    @Test
    void shouldWriteAWantedPageBeforeThoseInFront() {
        guest.dirty(IntStream.range(0, PAGES).toArray());
        guest.begin();
        int wanted = PAGES - 1;
        guest.frozen.want(wanted);
        freeze.doWork();
        assertEquals(PageTable.CLEAN, table.state(wanted));
        assertEquals(PageTable.DIRTY, table.state(wanted - 1), "its turn has not come");
        assertEquals(0, guest.frozen.wanted().size());
        assertEquals(State.SAVED, guest.work());
        assertEquals(PAGES, freeze.status().pages());
        assertEquals(WRITTEN, guest.home(wanted - 1));
    }

    @Test
    void shouldBeHandedOverOnlyWhenAllIsSaved() {
        guest.dirty(IntStream.range(0, PAGES).toArray());
        assertFalse(freeze.handOver());
        freeze.begin();
        assertFalse(freeze.handOver());
        while (guest.state() == State.FREEZING) {
            freeze.doWork();
        }
        freeze.doWork();
        assertFalse(freeze.handOver(), "pages are left");
        assertEquals(State.SAVING, guest.state());
        guest.work();
        assertFalse(freeze.isHandingOver());
        assertTrue(freeze.handOver());
        assertTrue(freeze.isHandingOver());
        assertTrue(freeze.handOver(), "again");
    }

    @Test
    void shouldNotFailWhileItIsHandedOver() {
        guest.dirty(2);
        guest.begin();
        guest.work();
        assertTrue(freeze.handOver());
        freeze.fail("this agent is ending");
        assertEquals(State.HANDING_OVER, guest.work());
        assertEquals("", freeze.status().failure());
        assertNull(guest.frozen.failure());
        assertTrue(guest.frozen.isActive(), "nothing else is written home");
        freeze.end();
        assertEquals(FreezeStatus.OFF, freeze.status());
        assertFalse(freeze.isOn());
        assertFalse(guest.frozen.isActive());
    }

    @Test
    void shouldProtectPagesBeforeTheMoment() {
        guest.dirty(2, 3, 20);
        guest.prepare();
        assertEquals(List.of("protect 2*2", "protect 20"), guest.kernel.calls);
        assertEquals(3, freeze.status().pages());
        assertFalse(guest.frozen.holds(2), "the guest may write to it");
        guest.begin();
        assertEquals(List.of("protect 2*2", "protect 20"), guest.kernel.calls, "nothing is left to be protected");
        assertTrue(IntStream.of(2, 3, 20).allMatch(guest.frozen::holds));
        assertEquals(State.SAVED, guest.work());
        assertEquals(WRITTEN, guest.home(3));
    }

    @Test
    void shouldProtectWhatWasWrittenToSinceThePreparation() {
        guest.dirty(2, 3, 4, 5);
        guest.prepare();
        guest.frozen.writable(4, 1);
        guest.dirty(20);
        guest.kernel.calls.clear();
        guest.begin();
        assertEquals(List.of("protect 4", "protect 20"), guest.kernel.calls);
        assertTrue(IntStream.of(2, 3, 4, 5, 20).allMatch(guest.frozen::holds));
    }

    @Test
    void shouldProtectAllAgainWhenTheVmmForksAfterThePreparation() {
        guest.dirty(2, 3);
        guest.prepare();
        guest.frozen.fail("the VMM has forked");
        assertNull(guest.frozen.failure(), "no snapshot has begun");
        guest.kernel.calls.clear();
        guest.begin();
        assertEquals(List.of("protect 2*2"), guest.kernel.calls);
    }

    @Test
    void shouldFreezeNoPageThatWasGivenUpAfterThePreparation() {
        guest.dirty(2, 3);
        guest.prepare();
        guest.frozen.change(2, 1, "was given up by the guest");
        PageStates.set(table, 2, PageTable.ZERO);
        guest.begin();
        assertNull(guest.frozen.failure());
        assertFalse(guest.frozen.holds(2));
        assertTrue(guest.frozen.holds(3));
    }

    @Test
    void shouldLeaveAPageOfWhichAPartWasGivenUpToTheMoment() {
        guest.dirty(2, 3);
        table.removePart(3, 1);
        guest.prepare();
        assertEquals(List.of("protect 2"), guest.kernel.calls);
    }

    @Test
    void shouldEndAPreparationThatNoMomentFollows() {
        guest.dirty(2);
        guest.prepare();
        guest.pass(Duration.ofSeconds(10));
        assertFalse(freeze.isPreparedInVain());
        guest.pass(Duration.ofNanos(1));
        assertTrue(freeze.isPreparedInVain());
    }

    @Test
    void shouldEndAPreparationThatIsGivenUp() {
        guest.prepare();
        freeze.fail("this agent is ending");
        assertTrue(freeze.isPreparedInVain());
        freeze.end();
        guest.prepare();
        assertFalse(freeze.isPreparedInVain(), "another one");
    }

    @Test
    void shouldPrepareAgainUntilASnapshotIsMade() {
        guest.dirty(2);
        guest.prepare();
        guest.frozen.writable(2, 1);
        guest.kernel.calls.clear();
        guest.prepare();
        assertEquals(List.of("protect 2"), guest.kernel.calls);
        guest.begin();
        assertEquals("another snapshot of it is being made", freeze.prepare());
    }

    @Test
    void shouldStrandDirtyPagesWhileASnapshotIsMade() {
        guest.dirty(2);
        PageStates.set(table, 9, PageTable.CLEAN);
        freeze.begin();
        ClockHand hand = new ClockHand(guest.memory, 8);
        hand.begin();
        assertEquals(9, hand.victim(), "its home has it");
        assertTrue(table.has(2, PageTable.STRANDED));
        assertFalse(table.has(9, PageTable.STRANDED));
    }
}
