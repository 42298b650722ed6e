package io.farpage.agent.data.pager.repair;

import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The extents of a thin space or a clone that have no homes, or whose room is being given back. When half of the local
 * limit is resident, it requests room for those that have dirty pages, so that eviction does not wait for it. One duty
 * cycle examines one extent. The shard's thread only.
 */
public final class Unallocated {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final PageTable table;
    private final Homes homes;
    private final Residency residency;
    private final LongSupplier clock;
    private int extent;
    private int version = -1;
    private boolean isForgetting;
    /** Whether room was needed at the last look. */
    private boolean isNeeded;

    private long pausedUntil;

    /** @param residency of the VMM's memory */
    public Unallocated(PagerContext context, PageTable table, Residency residency) {
        this.table = table;
        this.residency = residency;
        homes = context.homes();
        clock = context.clock();
        pausedUntil = clock.getAsLong();
    }

    /** Whether it goes on without a completion: some extents are not examined yet. */
    public boolean isBusy() {
        return homes.isAnyUnallocated() && (extent > 0 || version != homes.version());
    }

    /** Whether it has to look again in a moment. */
    public boolean waitsForTime() {
        return homes.isAnyUnallocated() && isNeeded;
    }

    /**
     * Runs a duty cycle. Returns how many extents were examined.
     *
     * @param isEnding whether all pages are written now
     */
    public int doWork(boolean isEnding) {
        if (!homes.isAnyUnallocated()) {
            return 0;
        }
        if (version != homes.version()) {
            version = homes.version();
            extent = 0;
            isForgetting = true;
            pausedUntil = clock.getAsLong();
        }
        boolean isWriting = isEnding || isFilling();
        isNeeded |= isEnding;
        if (extent == 0) {
            isNeeded &= isWriting;
            if (!isForgetting && (!isWriting || clock.getAsLong() - pausedUntil < 0)) {
                return 0;
            }
            isNeeded = isEnding;
        }
        if (!homes.isAllocated(extent)) {
            examine(isEnding, isWriting);
        }
        extent++;
        if (extent == homes.extents()) {
            extent = 0;
            isForgetting = false;
            pausedUntil = clock.getAsLong() + PAUSE_NANOS;
        }
        return 1;
    }

    private void examine(boolean isEnding, boolean isWriting) {
        int first = homes.firstPage(extent);
        int end = homes.endPage(extent);
        if (isForgetting && !homes.isWithdrawn(extent) && !homes.isAtBase(extent)) {
            // The homes that it had before have zeroed its pages.
            table.forgetCopies(first, end);
        }
        int next = isEnding ? table.nextUnsaved(first, end) : table.nextDirty(first, end);
        if (isWriting && next < end) {
            isNeeded = true;
            homes.mirroring().needsRoom(homes.origin(extent), homes.epoch(extent));
        }
    }

    /**
     * Withdraws those extents whose pages are all zeros: from now on nothing is written to their homes, in these
     * epochs.
     *
     * @param epochs of extents, by their first pages in the whole space
     * @return the first pages of those that this pager has pages of and does not withdraw
     */
    public Set<Long> withdraw(Map<Long, Long> epochs) {
        Set<Long> kept = new HashSet<>();
        for (int each = 0; each < homes.extents(); each++) {
            Long epoch = epochs.get(homes.origin(each));
            if (epoch == null) {
                continue;
            }
            if (epoch == homes.epoch(each)
                    && homes.isAllocated(each)
                    && homes.joinings().of(each) == null
                    && table.areZeros(homes.firstPage(each), homes.endPage(each))) {
                homes.withdraw(each);
            } else {
                kept.add(homes.origin(each));
            }
        }
        return kept;
    }

    /** The room of extents is not given back: they have their homes again. */
    public void reinstate(Set<Long> firstPages) {
        for (int each = 0; each < homes.extents(); each++) {
            if (firstPages.contains(homes.origin(each))) {
                homes.reinstate(each);
            }
        }
    }

    private boolean isFilling() {
        return residency.isEvictable() && table.resident() > residency.goal() / 2;
    }
}
