package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.RemoteHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Evicts pages to keep the resident set under the limit: decides when, how many and which. The clock algorithm finds
 * victims, in runs of neighbours; it gives a second chance to pages that faulted, not to prefetched ones.
 * {@link PageOut} takes them out.
 *
 * <p>A page whose home is lost is the only copy and stays. A page whose home does not answer stays until the home does.
 * Pages of other homes are evicted meanwhile. One duty cycle examines a bounded number of pages; the hand stays where
 * it stopped.
 */
public final class Evictor {
    /** Pages of 4 KiB that one duty cycle evicts at most, so that faults are served in between. */
    private static final int MAX_CYCLE_PAGES = 8 * PagerOptions.MAX_WRITE_RUN;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final PageTable table;
    private final PageOut pageOut;
    private final Residency residency;
    private final RemoteHomes remotes;
    private final Pins pins;
    private final LongSupplier clock;
    private final ClockHand hand;
    private final int maxRun;
    private final int maxCycle;

    /** Whether the last duty cycle has write-protected all that has to go. */
    private boolean isSated;

    private boolean evicting;
    /** Whether the latest duty cycle ended because a home has to complete a transfer first. */
    private boolean blocked;

    private long pausedUntil;
    private boolean paused;

    public Evictor(AddressSpace memory, PageOut pageOut, Residency residency) {
        this.pageOut = pageOut;
        this.residency = residency;
        table = memory.table();
        PagerContext context = memory.context();
        remotes = context.homes().remotes();
        pins = context.pins();
        clock = context.clock();
        hand = new ClockHand(memory, pageOut.maxWriting());
        maxRun = pageOut.maxRun();
        maxCycle = Math.max(
                1, MAX_CYCLE_PAGES * GuestLayout.BASE_PAGE / memory.layout().pageBytes());
    }

    /** Whether eviction can continue without a completion, a link or an inspection. */
    public boolean isBusy() {
        return evicting && !blocked && !(isSated && pageOut.awaitsInspection());
    }

    /**
     * Runs a duty cycle: evicts if too many pages are resident.
     *
     * @param incoming pages that are being fetched or wait to be
     * @param limit pages that may be resident, apart from those whose home is lost
     * @return the amount of work
     */
    public int doWork(int incoming, int limit) {
        if (!residency.isEvictable() || pins.isHeld()) {
            pageOut.abandon();
        }
        blocked &= isPaused();
        residency.fitVictims(evicting);
        int work = writeInspected();
        if (!residency.isEvictable() || limit >= table.pages() || !hasVictims()) {
            evicting = false;
            return work;
        }
        long resident = table.resident() - table.stranded() + incoming;
        int slack = Residency.slack(limit);
        if (resident > limit - slack) {
            evicting = true;
        }
        if (!evicting || isPaused()) {
            return work;
        }
        long leaving = Math.max(0, table.count(PageTable.EVICTING) - remotes.stuckWrites());
        long surplus = resident - leaving - (limit - 2L * slack);
        work += evict(surplus);
        if (pageOut.hasProtected()) {
            pageOut.await(pins.inspect());
            work += writeInspected();
        }
        if (surplus <= 0) {
            evicting = table.count(PageTable.EVICTING) > 0;
            blocked = evicting;
        }
        return work;
    }

    private int writeInspected() {
        int work = pageOut.writeInspected(maxCycle);
        blocked |= pageOut.isStalled();
        return work;
    }

    private int evict(long surplus) {
        hand.begin();
        int work = 0;
        isSated = surplus <= 0;
        for (int pages = 0; !isSated && pages < maxCycle; work++) {
            if (pageOut.isFull()) {
                blocked = true;
                return work;
            }
            int evicted = evictRun((int) Math.min(surplus - pages, maxRun));
            pages += evicted;
            isSated = evicted == 0 || pages >= surplus;
        }
        return work;
    }

    /** Evicts a run, or starts to. Returns how many pages, 0 if no victim was found in this duty cycle. */
    private int evictRun(int most) {
        int first = hand.victim();
        blocked |= hand.hasSkipped();
        if (hand.hasLapped()) {
            pause(table.pages());
        }
        return first == ClockHand.NO_VICTIM ? 0 : pageOut.begin(first, hand.passRun(first, most));
    }

    /** Whether pins leave pages that can be evicted. */
    private boolean hasVictims() {
        return !pins.isHeld() || (!pins.isLasting() && table.count(PageTable.CLEAN) > 0);
    }

    private boolean isPaused() {
        if (paused && clock.getAsLong() - pausedUntil < 0) {
            return true;
        }
        paused = false;
        return false;
    }

    /** Nothing can be evicted: searches again after a time in proportion to the cost of a search. */
    private void pause(int pages) {
        paused = true;
        pausedUntil = clock.getAsLong() + Math.max(PAUSE_NANOS, pages);
        blocked |= pages > PAUSE_NANOS;
        // The rest may be pinned for long; the next fault starts a new search.
        evicting &= !pins.isHeld();
    }

    /** Pages examined in the latest duty cycle, for tests. */
    public int examined() {
        return hand.examined();
    }
}
