package io.farpage.agent.pager;

import io.farpage.agent.shard.Counter;
import io.farpage.agent.shard.FetchStatus;
import io.farpage.agent.shard.Fetcher;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.uffd.GuestFile;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.posix.ErrnoName;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what is resident under the limit. Victims are found by the clock algorithm, in runs of neighbours; a page that was asked for, as
 * opposed to prefetched, is passed over once. A clean run is taken out at once. A dirty one is write-protected, copied to staging
 * frames and written to its home, and only when it is there, and nobody wrote to it meanwhile, is it taken out: a page is at every moment
 * in at least one place. Zeros are not written unless the home holds something older, which would come back if the agent were killed.
 */
final class Evictor {
    private static final Logger log = LoggerFactory.getLogger(Evictor.class);
    private static final int MAX_RUN = 32;
    private static final int MAX_WRITING = 8 * MAX_RUN;
    /** What one turn deals with at most, so that faults are looked at in between. */
    private static final long TURN_BYTES = (long) MAX_WRITING * Installer.BASE_PAGE;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final String space;
    private final GuestFile file;
    private final PageTable table;
    private final GuestLayout layout;
    private final Installer installer;
    private final Homes homes;
    private final Fetcher fetcher;
    private final Transfers transfers;
    private final PagePool pool;
    private final LongSupplier clock;
    private final boolean[] ofZeros;

    private final Counter evictions = new Counter();
    private final Counter writtenBack = new Counter();
    private final Counter elided = new Counter();

    private final int maxRun;
    private final int maxWriting;
    private final int maxTurn;
    private int hand;
    private int writing;
    private boolean evicting;
    private boolean broken;
    private long pausedUntil;
    private boolean paused;

    Evictor(
            String space,
            GuestFile file,
            PageTable table,
            GuestLayout layout,
            Installer installer,
            Homes homes,
            Fetcher fetcher,
            Transfers transfers,
            PagePool pool,
            LongSupplier clock) {
        this.space = space;
        this.file = file;
        this.table = table;
        this.layout = layout;
        this.installer = installer;
        this.homes = homes;
        this.fetcher = fetcher;
        this.transfers = transfers;
        this.pool = pool;
        this.maxRun = Math.min(MAX_RUN, transfers.maxRun());
        this.maxWriting = Math.min(MAX_WRITING, 2 * transfers.share());
        this.maxTurn = (int) Math.max(1, TURN_BYTES / layout.pageBytes());
        this.clock = clock;
        this.ofZeros = new boolean[fetcher.capacity()];
    }

    /** Pages taken out. Any thread. */
    Counter evictions() {
        return evictions;
    }

    /** Pages written to their homes. Any thread. */
    Counter writtenBack() {
        return writtenBack;
    }

    /** Pages that were zeros and so did not need to be written. Any thread. */
    Counter elided() {
        return elided;
    }

    /** Whether pages can be taken out at all. */
    boolean works() {
        return installer.protects() && !broken;
    }

    /** Whether there is something to be taken out that needs no completion to go on. */
    boolean isBusy() {
        return evicting && writing < maxWriting;
    }

    /**
     * Starts to take pages out, if there are too many.
     *
     * @param incoming pages on their way here
     * @param limit pages that may be resident
     * @return how many runs were dealt with
     */
    int doWork(int incoming, int limit) {
        if (!works() || limit >= table.pages()) {
            return 0;
        }
        long resident = table.resident() + incoming;
        int slack = slack(limit);
        if (resident > limit - slack) {
            evicting = true;
        }
        if (!evicting || isPaused()) {
            return 0;
        }
        long surplus = resident - table.count(PageTable.EVICTING) - (limit - 2L * slack);
        int work = 0;
        for (int pages = 0; surplus > 0 && writing < maxWriting && pages < maxTurn; work++) {
            int taken = evictRun((int) Math.min(surplus, maxRun));
            if (taken == 0) {
                return work;
            }
            surplus -= taken;
            pages += taken;
        }
        if (surplus <= 0) {
            evicting = table.count(PageTable.EVICTING) > 0;
        }
        return work;
    }

    /** Room kept free for faults, so that they need not wait for a write to end. */
    private static int slack(int limit) {
        return Math.min(4 * MAX_RUN, Math.max(8, limit / 16));
    }

    private boolean isPaused() {
        if (paused && clock.getAsLong() - pausedUntil < 0) {
            return true;
        }
        paused = false;
        return false;
    }

    private void pause() {
        paused = true;
        pausedUntil = clock.getAsLong() + PAUSE_NANOS;
    }

    /** Takes a run out, or begins to. Returns how many pages, 0 if none can be at the moment. */
    private int evictRun(int most) {
        int first = victim();
        if (first < 0) {
            pause();
            return 0;
        }
        int kind = table.kind(first);
        int count = 1;
        int reach = homes.contiguous(homes.extent(first), first, layout.contiguous(first, most));
        while (count < reach && isVictim(first + count) && table.kind(first + count) == kind) {
            count++;
        }
        hand = first + count;
        return kind == PageTable.CLEAN ? drop(first, count) : writeBack(first, count);
    }

    private int victim() {
        int pages = table.pages();
        // Two laps: the first may find nothing but pages that are to be passed over once.
        for (long step = 2L * pages; step > 0; step--) {
            if (hand >= pages) {
                hand = 0;
            }
            if (isVictim(hand)) {
                return hand;
            }
            table.clear(hand, PageTable.REFERENCED);
            hand++;
        }
        return -1;
    }

    private boolean isVictim(int page) {
        int kind = table.kind(page);
        return (kind == PageTable.CLEAN || kind == PageTable.DIRTY)
                && !table.has(page, PageTable.REFERENCED | PageTable.WRITING)
                && layout.addressOf(page) != GuestLayout.NONE;
    }

    private int drop(int first, int count) {
        if (!punch(first, count)) {
            return 0;
        }
        for (int page = first; page < first + count; page++) {
            table.become(page, PageTable.REMOTE);
        }
        evictions.add(count);
        return count;
    }

    private boolean punch(int first, int count) {
        int result = file.punchHole(layout.offsetOf(first), (long) count * layout.pageBytes());
        if (result < 0) {
            giveUp("pages cannot be taken out of the memory file: " + ErrnoName.of(-result));
        }
        return result == 0;
    }

    private void giveUp(String why) {
        broken = true;
        log.warn("space {}: {}; nothing of it can be evicted any more", space, why);
    }

    private int writeBack(int first, int most) {
        int count = most;
        int frame = transfers.allocate(count);
        if (frame == FrameAllocator.NONE && count > 1) {
            count = 1;
            frame = transfers.allocate(count);
        }
        if (frame == FrameAllocator.NONE) {
            return 0;
        }
        if (!installer.protect(first, count)) {
            transfers.free(frame, 0, count);
            return 0;
        }
        if (!read(first, count, frame)) {
            transfers.free(frame, 0, count);
            return 0;
        }
        int posted = 0;
        for (int i = 0; i < count; ) {
            boolean zero = isZero(frame, i);
            boolean elidable = zero && !table.has(first + i, PageTable.HOMED);
            int run = 1;
            while (i + run < count
                    && isZero(frame, i + run) == zero
                    && (zero && !table.has(first + i + run, PageTable.HOMED)) == elidable) {
                run++;
            }
            boolean went = elidable ? elide(first + i, run) : post(first + i, run, frame, i, zero);
            if (elidable || !went) {
                transfers.free(frame, i, run);
            }
            posted += went ? run : 0;
            i += run;
        }
        return posted;
    }

    private boolean read(int first, int count, int frame) {
        long bytes = (long) count * layout.pageBytes();
        long got = file.read(layout.offsetOf(first), transfers.stagingAddress(frame, 0), bytes);
        if (got != bytes) {
            giveUp(
                    got < 0
                            ? "the memory file cannot be read: " + ErrnoName.of((int) -got)
                            : "the memory file has been truncated");
            return false;
        }
        return true;
    }

    private boolean isZero(int frame, int index) {
        long offset = transfers.stagingOffset(frame, index);
        int bytes = layout.pageBytes();
        return MemorySegment.mismatch(pool.staging(), offset, offset + bytes, Zeros.segment(), 0, bytes) == -1;
    }

    /** The pages hold zeros, as their home does, and nobody can have written to them since: they need not be anywhere. */
    private boolean elide(int first, int count) {
        if (!punch(first, count)) {
            return false;
        }
        for (int page = first; page < first + count; page++) {
            table.become(page, PageTable.ZERO);
        }
        evictions.add(count);
        elided.add(count);
        return true;
    }

    /** Writes pages to their home. Those that cannot be at the moment stay dirty, and protected, which does no harm. */
    private boolean post(int first, int count, int frame, int index, boolean zero) {
        int extent = homes.extent(first);
        if (homes.isLost(extent)) {
            giveUp(homes.home(extent) + ", the home of pages " + first + " and on, has lost its memory");
            return false;
        }
        PeerLink link = homes.link(extent);
        int bytes = count * layout.pageBytes();
        if (link == null) {
            MemorySegment.copy(
                    pool.staging(),
                    transfers.stagingOffset(frame, index),
                    pool.exported(),
                    homes.offset(extent, first),
                    bytes);
            mark(first, count);
            settle(first, count, zero);
            transfers.free(frame, index, count);
            return true;
        }
        long address = transfers.stagingAddress(frame, index);
        int slot = fetcher.write(link, homes.incarnation(extent), homes.offset(extent, first), bytes, address);
        if (slot == Fetcher.NONE) {
            return false;
        }
        transfers.begin(slot, first, count, transfers.frameOf(frame, index), true, false, 0);
        ofZeros[slot] = zero;
        mark(first, count);
        writing += count;
        return true;
    }

    private void mark(int first, int count) {
        for (int page = first; page < first + count; page++) {
            table.become(page, PageTable.EVICTING);
            table.set(page, PageTable.WRITING | PageTable.HOMED);
        }
    }

    /** Takes the end of a write that {@link #post} began, and ends its slot. */
    void written(int slot, FetchStatus status) {
        int first = transfers.first(slot);
        int count = transfers.count(slot);
        writing -= count;
        if (status == FetchStatus.OK) {
            settle(first, count, ofZeros[slot]);
        } else {
            for (int page = first; page < first + count; page++) {
                table.clear(page, PageTable.WRITING);
                if (table.kind(page) == PageTable.EVICTING) {
                    table.become(page, PageTable.DIRTY);
                }
            }
            pause();
            if (status == FetchStatus.PAGE_LOST) {
                giveUp("pages " + first + " and on cannot be written to their home: " + status);
            }
        }
        transfers.end(slot);
    }

    /** The home has the pages: takes out those that nobody wrote to or gave up since. Zeros need not be fetched again. */
    private void settle(int first, int count, boolean zero) {
        writtenBack.add(count);
        for (int i = 0; i < count; ) {
            int page = first + i;
            table.clear(page, PageTable.WRITING);
            if (table.kind(page) != PageTable.EVICTING) {
                i++;
                continue;
            }
            int run = 1;
            while (i + run < count && table.kind(page + run) == PageTable.EVICTING) {
                table.clear(page + run, PageTable.WRITING);
                run++;
            }
            boolean out = punch(page, run);
            for (int p = page; p < page + run; p++) {
                table.become(p, !out ? PageTable.DIRTY : zero ? PageTable.ZERO : PageTable.REMOTE);
                if (out && zero) {
                    table.clear(p, PageTable.HOMED);
                }
            }
            evictions.add(out ? run : 0);
            i += run;
        }
    }
}
