package io.farpage.agent.data.pager.evict;

import static io.farpage.agent.data.pager.evict.FrozenGuest.EXTENT;
import static io.farpage.agent.data.pager.evict.FrozenGuest.WRITTEN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.Errno;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** When a snapshot cannot be made. Page 2 has its home on a node whose link is down; the others live on this node. */
final class FreezeFailureTest {
    private static final int AWAY = 2;
    private static final int HERE = EXTENT + 2;
    private static final Duration INSTANT = Duration.ofNanos(1);

    @AutoClose
    private final FrozenGuest guest = new FrozenGuest("b", "a", "a", "a");

    private final Freeze freeze = guest.freeze;

    @Test
    void shouldNotBeginWhileAnotherSnapshotIsMade() {
        guest.dirty(HERE);
        guest.begin();
        assertEquals("another snapshot of it is being made", freeze.begin());
        assertEquals(State.SAVED, guest.work(), "the first goes on");
        freeze.end();
        assertNull(freeze.begin());
    }

    @Test
    void shouldNotBeginWhenAPageIsLost() {
        PageStates.set(guest.table, HERE, PageTable.LOST);
        assertEquals("pages of it are lost", freeze.begin());
        assertEquals(FreezeStatus.OFF, freeze.status());
    }

    @Test
    void shouldNotBeginWhenNothingCanBeEvicted() {
        guest.residency.stopEviction();
        assertEquals(Freeze.NOT_EVICTABLE, freeze.begin());
        assertFalse(guest.frozen.isActive());
    }

    @Test
    void shouldFailWhenAPageIsGivenUpBeforeItWasCopied() {
        guest.dirty(AWAY, HERE);
        guest.begin();
        guest.frozen.change(AWAY + 1, 8, "was given up by the guest");
        assertNull(guest.frozen.failure(), "none of them is needed");
        guest.frozen.change(0, AWAY + 1, "was given up by the guest");
        guest.assertFailed("page 2, which no home had yet, was given up by the guest");
        assertEquals(PageTable.DIRTY, guest.table.state(HERE), "what is left is evicted as ever");
    }

    @Test
    void shouldNotFailWhenAPageIsGivenUpAfterItWasCopied() {
        guest.dirty(HERE);
        guest.begin();
        assertEquals(State.SAVED, guest.work());
        guest.frozen.change(HERE, 1, "was given up by the guest");
        assertEquals(State.SAVED, guest.work());
        assertTrue(freeze.handOver());
    }

    @Test
    void shouldFailWhenAPageIsGivenUpInPartAtTheMoment() {
        guest.dirty(HERE);
        guest.table.removePart(HERE, 1);
        freeze.begin();
        guest.assertFailed("a part of page " + HERE);
    }

    @Test
    void shouldFailWhenAPageCannotBeProtected() {
        guest.dirty(HERE);
        guest.kernel.refuse(Errno.EINVAL);
        freeze.begin();
        guest.assertFailed("page %d cannot be write-protected".formatted(HERE));
    }

    @Test
    void shouldWritePagesOfOtherHomesWhenOneIsDown() {
        guest.dirty(AWAY, HERE);
        guest.begin();
        assertEquals(State.SAVING, guest.work());
        assertEquals(1, freeze.status().left());
        assertEquals(WRITTEN, guest.home(HERE));
        assertTrue(guest.frozen.holds(AWAY));
        assertFalse(freeze.handOver());
    }

    @Test
    void shouldFailWhenDeadlineHasPassed() {
        guest.dirty(AWAY);
        guest.begin();
        guest.pass(PagerOptions.FLUSH_DEADLINE);
        assertEquals(State.SAVING, guest.work());
        guest.pass(INSTANT);
        guest.assertFailed("no page has reached a home for 600 s");
        assertEquals(PageTable.DIRTY, guest.table.state(AWAY));
    }

    @Test
    void shouldFailWhenAThreadHasWaitedTooLong() {
        guest.dirty(AWAY);
        guest.begin();
        guest.frozen.want(AWAY);
        guest.pass(Duration.ofSeconds(1));
        assertEquals(State.SAVING, guest.work());
        guest.pass(INSTANT);
        guest.assertFailed("the guest has waited for 1000 ms to write to a page that no home takes");
    }

    /** Between two duty cycles other threads come to wait, as those of a guest that writes everywhere do. */
    @Test
    void shouldNotFailWhenNoThreadOfManyWaitsForLong() {
        int[] pages = IntStream.range(HERE, HERE + 10).toArray();
        guest.dirty(pages);
        guest.dirty(AWAY);
        guest.begin();
        for (int page : pages) {
            guest.frozen.want(page);
            guest.pass(Duration.ofMillis(300));
            freeze.doWork();
            assertEquals(0, guest.frozen.wanted().size(), "the page is copied at once");
            assertEquals(State.SAVING, guest.state(), freeze.status()::toString);
        }
    }

    /** The kernel protects nothing while an event waits to be read. */
    @Test
    void shouldProtectAPageAgainWhenTheKernelWasBusy() {
        guest.dirty(HERE);
        guest.kernel.refuse(Errno.EAGAIN);
        guest.begin();
        assertEquals(State.SAVED, guest.work());
        assertEquals(WRITTEN, guest.home(HERE));
    }
}
