package io.farpage.agent.data.pager.repair;

import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The extents of a thin space that have no homes. Asks for room for those of them whose pages will have to be written
 * soon, so that it is there when eviction needs it: from the time on when half of the limit is resident. One duty cycle
 * examines one extent. The shard's thread only.
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
    private long pausedUntil;

    /** @param residency of the VMM's memory */
    public Unallocated(PagerContext context, PageTable table, Residency residency) {
        this.table = table;
        this.residency = residency;
        homes = context.homes();
        clock = context.clock();
        pausedUntil = clock.getAsLong();
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
        if (extent == 0 && clock.getAsLong() - pausedUntil < 0) {
            return 0;
        }
        if (!homes.isAllocated(extent)) {
            examine(isEnding);
        }
        extent++;
        if (extent == homes.extents()) {
            extent = 0;
            isForgetting = false;
            pausedUntil = clock.getAsLong() + PAUSE_NANOS;
        }
        return 1;
    }

    private void examine(boolean isEnding) {
        int first = homes.firstPage(extent);
        int end = homes.endPage(extent);
        if (isForgetting) {
            // The homes that it had before have zeroed its pages.
            table.forgetCopies(first, end);
        }
        boolean isNeeded =
                isEnding ? table.nextUnsaved(first, end) < end : isFilling() && table.nextResident(first, end) < end;
        if (isNeeded) {
            homes.mirroring().needsRoom(homes.origin(extent), homes.epoch(extent));
        }
    }

    private boolean isFilling() {
        return residency.isEvictable() && table.resident() > residency.goal() / 2;
    }
}
