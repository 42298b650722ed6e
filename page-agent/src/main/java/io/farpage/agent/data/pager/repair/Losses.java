package io.farpage.agent.data.pager.repair;

import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the resident pages of extents whose home is lost, or for which no home has room, and marks them as the only
 * copies (stranded). The evictor never evicts them; marked, they no longer count against the limit. One duty cycle
 * examines a bounded number of pages. From time to time all are examined again, since the guest may have been given
 * more zero pages of such an extent.
 */
public final class Losses {
    private static final Logger log = LoggerFactory.getLogger(Losses.class);
    /** Extents, and pages of such an extent, that one duty cycle examines. */
    private static final int MAX_EXTENTS = 64;

    private static final int MAX_PAGES = 32_768;
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String space;
    private final PageTable table;
    private final Homes homes;
    private final LongSupplier clock;
    private int version;
    /** By extent: whether some of its pages are marked. */
    private boolean[] isKnown;

    private int extent;
    private int page;
    private long pausedUntil;

    /** @param table of the VMM */
    public Losses(PagerContext context, PageTable table) {
        this.table = table;
        space = context.space();
        homes = context.homes();
        clock = context.clock();
        version = homes.version();
        isKnown = new boolean[homes.extents()];
        pausedUntil = clock.getAsLong();
    }

    /** Has all pages examined that are marked: some may be evicted again. */
    public void restart() {
        version = homes.version() - 1;
    }

    /** Runs a duty cycle. Returns how many pages were examined. */
    public int doWork() {
        if (version != homes.version()) {
            version = homes.version();
            isKnown = new boolean[homes.extents()];
            Arrays.fill(isKnown, table.stranded() > 0);
            extent = 0;
            page = 0;
            pausedUntil = clock.getAsLong();
        }
        if (page == 0 && extent == 0 && clock.getAsLong() - pausedUntil < 0) {
            return 0;
        }
        for (int examined = 0; examined < MAX_EXTENTS; examined++) {
            if (extent == isKnown.length) {
                extent = 0;
                page = 0;
                pausedUntil = clock.getAsLong() + PAUSE_NANOS;
                return 0;
            }
            boolean lost = homes.isOnlyCopy(extent, false);
            if (lost || isKnown[extent]) {
                return mark(lost);
            }
            extent++;
            page = 0;
        }
        return 0;
    }

    private int mark(boolean lost) {
        int end = homes.endPage(extent);
        int from = Math.max(page, homes.firstPage(extent));
        int until = from + Math.min(MAX_PAGES, end - from);
        for (int at = table.nextResident(from, until); at < until; at = table.nextResident(at + 1, until)) {
            if (lost && homes.isOnlyCopy(extent, table.state(at) == PageTable.CLEAN)) {
                table.strand(at);
            } else {
                table.clear(at, PageTable.STRANDED);
            }
        }
        page = until;
        if (until == end) {
            if (!isKnown[extent] && homes.isLost(extent) && homes.isReadable(extent)) {
                log.error(
                        "space {}: node {} has lost its memory, and with it pages {} to {}; those that are resident"
                                + " stay so",
                        space,
                        homes.name(extent),
                        homes.firstPage(extent),
                        end - 1);
            }
            isKnown[extent] = lost;
            extent++;
            page = 0;
        }
        return until - from;
    }
}
