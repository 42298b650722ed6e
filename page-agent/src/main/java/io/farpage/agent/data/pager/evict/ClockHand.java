package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.RemoteHomes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FrozenPages;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;

/**
 * Finds victims by the clock algorithm: a hand goes round the pages and gives those that have faulted a second chance.
 * One duty cycle examines a bounded number of pages; the hand stays where it stopped. The shard's thread only.
 */
final class ClockHand {
    static final int NO_VICTIM = -1;

    /** Pages on their way to one home. */
    private static final int MAX_WRITING = 8 * PagerOptions.MAX_WRITE_RUN;

    /** Resident pages that one duty cycle examines, and pages that it passes. */
    private static final int MAX_EXAMINED = 4096;

    private static final int MAX_PASSED = 16 * MAX_EXAMINED;
    /** Cost of a page whose address the search had to find, in examined pages. */
    private static final int EXAMINED_FOR_LAYOUT = 8;

    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final RemoteHomes remotes;
    private final WrittenHomes writtenHomes;
    private final Pins pins;
    private final FrozenPages frozen;
    private final int maxWriting;

    private int hand;
    /** Pages that the hand has passed since the last victim. */
    private long sinceVictim;

    private int examinedPages;
    private int passed;
    private boolean skipped;
    private boolean lapped;

    /** @param maxWriting pages that may be on their way to all homes */
    ClockHand(AddressSpace memory, int maxWriting) {
        this.maxWriting = maxWriting;
        table = memory.table();
        layout = memory.layout();
        homes = memory.context().homes();
        remotes = homes.remotes();
        writtenHomes = memory.context().writtenHomes();
        pins = memory.context().pins();
        frozen = memory.context().frozen();
    }

    /** A duty cycle begins. */
    void begin() {
        examinedPages = 0;
        passed = 0;
        skipped = false;
        lapped = false;
    }

    /** Pages examined in this duty cycle, for tests. */
    int examined() {
        return examinedPages + passed;
    }

    /**
     * Whether pages were passed over in this duty cycle because their home has to complete a transfer or to come back
     * first.
     */
    boolean hasSkipped() {
        return skipped;
    }

    /** Whether the hand has gone round twice and found no victim. */
    boolean hasLapped() {
        return lapped;
    }

    private boolean isExhausted() {
        return examinedPages >= MAX_EXAMINED || passed >= MAX_PASSED;
    }

    /**
     * How many victims in the state of {@code first} lie one after the other from that page on, up to {@code most}. The
     * hand passes them.
     */
    int passRun(int first, int most) {
        int state = table.state(first);
        int count = 1;
        int reach = homes.contiguous(homes.extent(first), first, layout.contiguous(first, most));
        while (count < reach && isVictim(first + count) && table.state(first + count) == state) {
            count++;
        }
        hand = first + count;
        sinceVictim = 0;
        return count;
    }

    /** Moves the hand to the next victim; {@link #NO_VICTIM} if this duty cycle finds none. */
    int victim() {
        int pages = table.pages();
        while (!isExhausted()) {
            // Two laps: the first may find only pages that get a second chance.
            if (sinceVictim >= 2L * pages) {
                sinceVictim = 0;
                lapped = true;
                return NO_VICTIM;
            }
            if (hand >= pages) {
                hand = 0;
            }
            int end = Math.min(pages, hand + MAX_PASSED - passed);
            int page = table.nextResident(hand, end);
            pass(page - hand);
            if (page == end) {
                continue;
            }
            examinedPages++;
            if (isVictim(page)) {
                examinedPages += EXAMINED_FOR_LAYOUT;
                int extent = homes.extent(page);
                int state = table.state(page);
                if (isOnlyCopy(extent, state)) {
                    table.strand(page);
                    pass(1);
                } else if (mayEvict(extent, state)) {
                    return page;
                } else {
                    // Behind a page that waits for room there may be some that are the same in a snapshot.
                    skip(homes.isAtBase(extent) && state != PageTable.CLEAN ? page + 1 : homes.endPage(extent));
                }
            } else {
                table.clear(page, PageTable.REFERENCED);
                pass(1);
            }
        }
        return NO_VICTIM;
    }

    /** Whether a page stays in the guest's memory: no home takes it, or none may while a snapshot is made. */
    private boolean isOnlyCopy(int extent, int state) {
        return homes.isOnlyCopy(extent, state == PageTable.CLEAN) || (state == PageTable.DIRTY && frozen.isActive());
    }

    private void pass(int pages) {
        hand += pages;
        sinceVictim += pages;
        passed += pages;
    }

    /** Skips the rest of an extent without examining its pages. */
    private void skip(int end) {
        sinceVictim += end - hand;
        hand = end;
        skipped = true;
    }

    /** Whether a home of an extent can serve a clean page again, or all of them accept a dirty one now. */
    private boolean mayEvict(int extent, int state) {
        if (state == PageTable.CLEAN) {
            Home home = homes.home(extent);
            return homes.isReadable(extent) && (home == null || remotes.answers(home));
        }
        int most = Math.min(MAX_WRITING, Math.max(1, maxWriting / Math.max(1, remotes.named())));
        return writtenHomes.doAllAnswer(extent) && writtenHomes.takeWrites(extent, most);
    }

    private boolean isVictim(int page) {
        int state = table.state(page);
        return (state == PageTable.CLEAN || (state == PageTable.DIRTY && !pins.isHeld()))
                && !table.has(page, PageTable.REFERENCED | PageTable.WRITING | PageTable.STRANDED)
                && !table.isPartlyRemoved(page)
                && layout.addressOf(page) != GuestLayout.NONE;
    }
}
