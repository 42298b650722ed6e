package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.LostPages;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.VictimCache;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.linux.ErrnoName;
import java.lang.invoke.VarHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes runs of pages out of the guest. A clean run is punched out at once. A dirty run is write-protected, waits until
 * an inspection finds no {@link Pins pin} on it, is copied to staging frames and written to its home. When the WRITE
 * has completed, those pages of the run are punched out that the guest has not written to since they were protected;
 * the others stay resident and are dirty. So at every moment the memory file or the home holds what the guest last
 * stored. Zeros are not written unless the home holds an older version, which would come back if the agent were killed.
 *
 * <p>The shard's thread only.
 */
public final class PageOut {
    private static final Logger log = LoggerFactory.getLogger(PageOut.class);

    private final AddressSpace memory;
    private final PageTable table;
    private final Residency residency;
    private final WriteBack writeBack;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final Transfers transfers;
    private final Pins pins;
    private final LostPages lost;
    private final VictimCache victims;
    private final PagerCounters counters;
    private final Protected waiting = new Protected();
    private final int maxWriting;

    private int writing;
    private boolean stalled;

    /** @param lost takes evicted pages in whose place the kernel leaves zeros */
    public PageOut(AddressSpace memory, WriteBack writeBack, Residency residency, LostPages lost) {
        this.lost = lost;
        victims = memory.victims();
        this.memory = memory;
        this.writeBack = writeBack;
        this.residency = residency;
        table = memory.table();
        PagerContext context = memory.context();
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        transfers = context.transfers();
        pins = context.pins();
        counters = context.counters();
        maxWriting = 2 * context.staging().share();
    }

    /** Whether nothing waits to be written home, or is under way. */
    boolean isIdle() {
        return writing == 0 && waiting.isEmpty();
    }

    /** The most pages that {@link #begin} evicts at once. */
    int maxRun() {
        return writeBack.maxRun();
    }

    /** Pages that may be on their way to all homes. */
    int maxWriting() {
        return maxWriting;
    }

    /** Whether the pages on their way to their homes have reached the limit. */
    boolean isFull() {
        return writing >= maxWriting;
    }

    /** Whether the latest call of {@link #writeInspected} ended because no transfer slot or staging frame is free. */
    boolean isStalled() {
        return stalled;
    }

    /** Whether an inspection is all that protected pages wait for, and no write is under way. */
    boolean awaitsInspection() {
        return writing == 0 && !waiting.isEmpty() && !isInspected();
    }

    /** Whether pages were protected since {@link #await}. */
    boolean hasProtected() {
        return waiting.hasFresh();
    }

    /**
     * The pages that were protected since the last call wait for this inspection, which begins after they were
     * protected.
     */
    void await(long inspection) {
        waiting.await(inspection);
    }

    /**
     * Evicts a run of pages that are all clean, or starts to evict a run of dirty ones. Returns how many pages, 0 if
     * none can be evicted now.
     */
    int begin(int first, int count) {
        return table.state(first) == PageTable.CLEAN ? drop(first, count) : protect(first, count);
    }

    private int drop(int first, int count) {
        writeBack.readVictims(first, count);
        if (!punch(first, count)) {
            return 0;
        }
        leave(first, count);
        victims.evicted(first, count);
        requireGone(first, count);
        counters.evictions().add(count);
        return count;
    }

    /** Write-protects the front of a run, which then waits for an inspection. Returns how many pages. */
    private int protect(int first, int most) {
        int count = waiting.isFull() ? 0 : memory.protection().protect(first, most);
        if (count == 0) {
            return 0;
        }
        for (int page = first; page < first + count; page++) {
            table.setState(page, PageTable.EVICTING);
            table.set(page, PageTable.WRITING);
        }
        waiting.add(first, count);
        return count;
    }

    /** Stops waiting for inspections: the pages stay and are dirty. */
    public void abandon() {
        while (!waiting.isEmpty()) {
            release(waiting.first());
            waiting.removeFirst(1);
        }
    }

    private void release(int page) {
        table.clear(page, PageTable.WRITING);
        if (table.state(page) == PageTable.EVICTING) {
            table.setState(page, PageTable.DIRTY);
        }
    }

    /**
     * Starts to write back pages whose inspection has passed and that were not written to since. Returns how many runs.
     */
    int writeInspected(int most) {
        stalled = false;
        int work = 0;
        for (int left = most; left > 0 && !isFull() && isInspected(); ) {
            int first = waiting.first();
            int reach = Math.min(waiting.count(), left);
            int run = 0;
            while (run < reach && table.state(first + run) == PageTable.EVICTING) {
                run++;
            }
            if (run == 0 || !mayWrite(first)) {
                release(first);
                waiting.removeFirst(1);
                continue;
            }
            int written = write(first, run);
            if (written == 0) {
                stalled = true;
                break;
            }
            waiting.removeFirst(written);
            left -= written;
            work++;
        }
        if (!residency.isEvictable()) {
            abandon();
        }
        return work;
    }

    private boolean isInspected() {
        return !waiting.isEmpty() && pins.passed(waiting.inspection());
    }

    /** Whether the homes of a page take writes. If not, the page stays dirty, and others are written. */
    private boolean mayWrite(int page) {
        int extent = homes.extent(page);
        return !homes.isLost(extent) && writtenHomes.doAllAnswer(extent);
    }

    /**
     * Copies protected pages to staging frames and starts to write them home. Returns how many, 0 if slots or frames
     * run short.
     */
    private int write(int first, int most) {
        int count = writeBack.acquire(first, most);
        if (count == 0) {
            return 0;
        }
        if (!read(first, count)) {
            writeBack.release(0, count);
            return 0;
        }
        int done = 0;
        while (done < count) {
            boolean zero = writeBack.isZero(done);
            boolean elidable = zero && !table.has(first + done, PageTable.HAS_REMOTE_COPY);
            int run = 1;
            while (done + run < count
                    && writeBack.isZero(done + run) == zero
                    && (zero && !table.has(first + done + run, PageTable.HAS_REMOTE_COPY)) == elidable) {
                run++;
            }
            boolean began = elidable ? elide(first + done, run) : post(first + done, run, done, zero);
            if (!began) {
                writeBack.release(done, count - done);
                return done;
            }
            if (elidable) {
                writeBack.release(done, run);
            }
            done += run;
        }
        return done;
    }

    private boolean read(int first, int count) {
        long got = writeBack.read(first, 0, count);
        if (got != (long) count * memory.layout().pageBytes()) {
            disable(
                    got < 0
                            ? "the memory file cannot be read: " + ErrnoName.of((int) -got)
                            : "the memory file has been truncated");
            return false;
        }
        return true;
    }

    /**
     * Looks whether pages that were punched out have left the file. If the kernel cannot split a huge page, it leaves
     * zeros instead of the page, and the guest finds them without a fault. The page is punched out once more, since
     * what held the huge page may be gone. If zeros stay, the page is lost to the guest, which gets SIGBUS instead of
     * them.
     */
    private void requireGone(int first, int count) {
        int end = first + count;
        for (int page = writeBack.firstLeft(first, count);
                page != WriteBack.NONE;
                page = page + 1 < end ? writeBack.firstLeft(page + 1, end - page - 1) : WriteBack.NONE) {
            residency.stopEviction();
            boolean gone = writeBack.punch(page, 1) == 0 && writeBack.firstLeft(page, 1) == WriteBack.NONE;
            log.error(
                    "space {}: the kernel has left zeros in the memory file where page {} was evicted: the page is part"
                            + " of a huge page; {}. Nothing more is evicted. Call madvise(MADV_NOHUGEPAGE) for the"
                            + " memory, and never MADV_COLLAPSE",
                    memory.context().space(),
                    page,
                    gone
                            ? "a second attempt has removed them, and a load between the two has read zeros"
                            : "the page is lost, and the guest is told by SIGBUS");
            if (gone) {
                continue;
            }
            if (table.state(page) == PageTable.ZERO) {
                table.setState(page, PageTable.DIRTY);
            } else {
                lost.zeroed(page);
            }
        }
    }

    private boolean punch(int first, int count) {
        if (!residency.isEvictable()) {
            return false;
        }
        int result = writeBack.punch(first, count);
        if (result < 0) {
            disable("pages cannot be taken out of the memory file: " + ErrnoName.of(-result));
        }
        return result == 0;
    }

    private void disable(String why) {
        residency.stopEviction();
        log.warn(
                "space {}: {}; its pages can no longer be evicted",
                memory.context().space(),
                why);
    }

    /** The pages hold zeros, as their home does, and cannot have been written to since: they are dropped. */
    private boolean elide(int first, int count) {
        if (!punch(first, count)) {
            return false;
        }
        for (int page = first; page < first + count; page++) {
            table.setState(page, PageTable.ZERO);
            table.clear(page, PageTable.WRITING);
        }
        requireGone(first, count);
        counters.evictions().add(count);
        counters.elided().add(count);
        return true;
    }

    /** Starts to write pages to their home. False if no slot is free. */
    private boolean post(int first, int count, int index, boolean zero) {
        assert areMarked(first, count) : "pages from " + first;
        Transfer.Kind kind = zero ? Transfer.Kind.EVICTION_OF_ZEROS : Transfer.Kind.EVICTION;
        for (int page = first; page < first + count; page++) {
            table.set(page, PageTable.HAS_REMOTE_COPY);
        }
        // A process that adopts the table must know of every page that a home may have.
        VarHandle.storeStoreFence();
        return switch (writeBack.write(kind, first, count, index)) {
            case NO_SLOT -> false;
            case DONE -> {
                completeWrite(first, count, zero);
                yield true;
            }
            case STARTED -> {
                writing += count;
                yield true;
            }
        };
    }

    /** Whether {@link #protect} has marked pages, and nothing has changed that since. */
    private boolean areMarked(int first, int count) {
        for (int page = first; page < first + count; page++) {
            if (table.state(page) != PageTable.EVICTING || !table.has(page, PageTable.WRITING)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Completes a write that {@link #post} started, and ends its transfer.
     *
     * @param stays whether the pages stay resident and dirty, because a child shares the memory: a VMM that is killed
     *     while it gives up a part of a page sends no event, and the child would find the zeros
     */
    public void written(Transfer write, FetchStatus status, boolean stays) {
        int first = write.first();
        int count = write.count();
        writing -= count;
        // A home that completed the write and was lost since has the pages no more.
        if (status == FetchStatus.OK && !stays && !homes.isLost(homes.extent(first))) {
            completeWrite(first, count, write.kind() == Transfer.Kind.EVICTION_OF_ZEROS);
        } else {
            for (int page = first; page < first + count; page++) {
                release(page);
            }
        }
        transfers.end(write);
    }

    /**
     * The home has the pages: punches out those that were neither written to nor given up since. Zeros need not be
     * fetched again.
     */
    private void completeWrite(int first, int count, boolean zero) {
        counters.writtenBack().add(count);
        for (int i = 0; i < count; ) {
            int page = first + i;
            table.clear(page, PageTable.WRITING);
            if (table.state(page) != PageTable.EVICTING) {
                i++;
                continue;
            }
            int run = 1;
            while (i + run < count && table.state(page + run) == PageTable.EVICTING) {
                table.clear(page + run, PageTable.WRITING);
                run++;
            }
            boolean out = punchWritten(page, run, zero);
            for (int p = page; p < page + run; p++) {
                table.setState(p, !out ? PageTable.DIRTY : zero ? PageTable.ZERO : PageTable.REMOTE);
                if (out && zero) {
                    table.clear(p, PageTable.HAS_REMOTE_COPY);
                }
            }
            if (out) {
                if (!zero) {
                    victims.evicted(page, run);
                }
                requireGone(page, run);
                counters.evictions().add(run);
            }
            i += run;
        }
    }

    /**
     * Punches pages out that the home has. That it has them is recorded before: a process that adopts the table takes a
     * page that is absent and still being written back for one that the VMM has punched out itself.
     */
    private boolean punchWritten(int first, int count, boolean zero) {
        if (!zero) {
            writeBack.readVictims(first, count);
            leave(first, count);
        }
        VarHandle.storeStoreFence();
        return punch(first, count);
    }

    /** The pages are at their homes alone. */
    private void leave(int first, int count) {
        boolean wanted = residency.parking().isParked();
        for (int page = first; page < first + count; page++) {
            table.setState(page, PageTable.REMOTE);
            if (wanted) {
                table.set(page, PageTable.WANTED);
            }
        }
    }
}
