package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.Counter;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.GuestFile;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Evicts pages to keep the resident set under the limit. The clock algorithm finds victims, in runs of neighbours; it gives a second chance to
 * pages that faulted, not to prefetched ones. A clean run is punched out at once. A dirty run is write-protected, waits until an inspection
 * finds no {@link Pins pin} on it, is copied to staging frames and written to its home. When the WRITE has completed,
 * the evictor punches out those pages of the run that the guest has not written to since they were protected; the others stay resident and
 * are dirty. So at every moment the memory file or the home holds what the guest last stored. Zeros are not written unless the home holds an
 * older version, which would come back if the agent were killed.
 *
 * <p>A page whose home is lost is the only copy and stays. A page whose home does not answer stays until the home does. Pages of other homes
 * are evicted meanwhile. One duty cycle examines a bounded number of pages; the hand stays where it stopped.
 */
final class Evictor {
    private static final Logger log = LoggerFactory.getLogger(Evictor.class);
    /** Pages of 4 KiB that one duty cycle evicts at most, so that faults are served in between. */
    private static final int MAX_CYCLE_PAGES = 8 * WriteBack.MAX_RUN;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final String space;
    private final PageTable table;
    private final GuestLayout layout;
    private final GuestFile file;
    private final Installer installer;
    private final Residency residency;
    private final Homes homes;
    private final Transfers transfers;
    private final WriteBack writeBack;
    private final Pins pins;
    private final LongSupplier clock;
    private final ClockHand hand;
    private final Protected waiting = new Protected();

    private final Counter evictions = new Counter();
    private final Counter writtenBack = new Counter();
    private final Counter elided = new Counter();

    private final int maxRun;
    private final int maxWriting;
    private final int maxCycle;
    /** Whether the last duty cycle has write-protected all that has to go. */
    private boolean isSated;

    private int writing;
    private boolean evicting;
    /** Whether the latest duty cycle ended because a home has to complete a transfer first. */
    private boolean blocked;

    private long pausedUntil;
    private boolean paused;

    /** @param file the memory, shared with the VMM */
    Evictor(AddressSpace memory, GuestFile file, Installer installer, Residency residency) {
        this.file = file;
        this.installer = installer;
        this.residency = residency;
        table = memory.table();
        layout = memory.layout();
        writeBack = new WriteBack(memory, file);
        PagerContext context = memory.context();
        space = context.space();
        homes = context.homes();
        transfers = context.transfers();
        pins = context.pins();
        clock = context.clock();
        maxRun = writeBack.maxRun();
        maxWriting = 2 * context.staging().share();
        hand = new ClockHand(memory, maxWriting);
        maxCycle = Math.max(1, MAX_CYCLE_PAGES * Installer.BASE_PAGE / layout.pageBytes());
    }

    /** Pages evicted. Any thread. */
    Counter evictions() {
        return evictions;
    }

    /** Pages written to their homes. Any thread. */
    Counter writtenBack() {
        return writtenBack;
    }

    /** Pages evicted without a write because they were zeros. Any thread. */
    Counter elided() {
        return elided;
    }

    /** Whether eviction can continue without a completion, a link or an inspection. */
    boolean isBusy() {
        return evicting && !blocked && !awaitsInspection();
    }

    private boolean awaitsInspection() {
        return isSated && writing == 0 && !waiting.isEmpty() && !isInspected();
    }

    /**
     * Runs a duty cycle: evicts if too many pages are resident.
     *
     * @param incoming pages that are being fetched or wait to be
     * @param limit pages that may be resident, apart from those whose home is lost
     * @return the amount of work
     */
    int doWork(int incoming, int limit) {
        if (!residency.isEvictable() || pins.isHeld()) {
            abandon();
        }
        blocked &= isPaused();
        int work = writeInspected(maxCycle);
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
        long leaving = Math.max(0, table.count(PageTable.EVICTING) - homes.stuckWrites());
        long surplus = resident - leaving - (limit - 2L * slack);
        work += evict(surplus);
        if (waiting.hasFresh()) {
            waiting.await(pins.inspect());
            work += writeInspected(maxCycle);
        }
        if (surplus <= 0) {
            evicting = table.count(PageTable.EVICTING) > 0;
            blocked = evicting;
        }
        return work;
    }

    private int evict(long surplus) {
        hand.begin();
        int work = 0;
        isSated = surplus <= 0;
        for (int pages = 0; !isSated && pages < maxCycle; work++) {
            if (writing >= maxWriting) {
                blocked = true;
                return work;
            }
            int taken = evictRun((int) Math.min(surplus - pages, maxRun));
            pages += taken;
            isSated = taken == 0 || pages >= surplus;
        }
        return work;
    }

    /** Pages examined in the latest duty cycle, for tests. */
    int examined() {
        return hand.examined();
    }

    /** Whether pins leave pages that can be evicted. */
    private boolean hasVictims() {
        return !pins.isHeld() || (!pins.isLasting() && table.count(PageTable.CLEAN) > 0);
    }

    /** Stops waiting for inspections: the pages stay and are dirty. */
    void abandon() {
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

    /** Starts to write back pages whose inspection has passed and that were not written to since. Returns how many runs. */
    private int writeInspected(int most) {
        int work = 0;
        for (int left = most; left > 0 && writing < maxWriting && isInspected(); ) {
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
                blocked = true;
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

    /** Whether the home of a page takes writes. If not, the page stays dirty, and others are written. */
    private boolean mayWrite(int page) {
        int extent = homes.extent(page);
        Home home = homes.home(extent);
        return !homes.isLost(extent) && (home == null || homes.answers(home));
    }

    private boolean isInspected() {
        return !waiting.isEmpty() && pins.passed(waiting.inspection());
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

    /** Evicts a run, or starts to. Returns how many pages, 0 if no victim was found in this duty cycle. */
    private int evictRun(int most) {
        int first = hand.victim();
        blocked |= hand.hasSkipped();
        if (hand.hasLapped()) {
            pause(table.pages());
        }
        if (first == ClockHand.NO_VICTIM) {
            return 0;
        }
        int state = table.state(first);
        int count = hand.takeRun(first, most);
        return state == PageTable.CLEAN ? drop(first, count) : protect(first, count);
    }

    /** Write-protects the front of a run, which then waits for an inspection. Returns how many pages. */
    private int protect(int first, int most) {
        int count = waiting.isFull() ? 0 : installer.protect(first, most);
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

    private int drop(int first, int count) {
        if (!punch(first, count)) {
            return 0;
        }
        for (int page = first; page < first + count; page++) {
            table.setState(page, PageTable.REMOTE);
        }
        evictions.add(count);
        return count;
    }

    private boolean punch(int first, int count) {
        int result = file.punchHole(layout.offsetOf(first), (long) count * layout.pageBytes());
        if (result < 0) {
            disable("pages cannot be taken out of the memory file: " + ErrnoName.of(-result));
        }
        return result == 0;
    }

    private void disable(String why) {
        residency.stopEviction();
        log.warn("space {}: {}; nothing of it can be evicted any more", space, why);
    }

    /** Copies protected pages to staging frames and starts to write them home. Returns how many, 0 if slots or frames run short. */
    private int write(int first, int most) {
        int count = writeBack.acquire(most);
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
            boolean went = elidable ? elide(first + done, run) : post(first + done, run, done, zero);
            if (!went) {
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
        if (got != (long) count * layout.pageBytes()) {
            disable(
                    got < 0
                            ? "the memory file cannot be read: " + ErrnoName.of((int) -got)
                            : "the memory file has been truncated");
            return false;
        }
        return true;
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
        evictions.add(count);
        elided.add(count);
        return true;
    }

    /** Starts to write pages to their home. False if no slot is free. */
    private boolean post(int first, int count, int index, boolean zero) {
        Transfer.Kind kind = zero ? Transfer.Kind.EVICTION_OF_ZEROS : Transfer.Kind.EVICTION;
        return switch (writeBack.write(kind, first, count, index)) {
            case NO_SLOT -> false;
            case DONE -> {
                mark(first, count);
                completeWrite(first, count, zero);
                yield true;
            }
            case STARTED -> {
                mark(first, count);
                writing += count;
                yield true;
            }
        };
    }

    private void mark(int first, int count) {
        for (int page = first; page < first + count; page++) {
            table.setState(page, PageTable.EVICTING);
            table.set(page, PageTable.WRITING | PageTable.HAS_REMOTE_COPY);
        }
    }

    /**
     * Completes a write that {@link #post} started, and ends its transfer.
     *
     * @param stays whether the pages stay resident and dirty, because a child shares the memory: a VMM that is killed while it gives up a part of
     *     a page sends no event, and the child would find the zeros
     */
    void written(Transfer write, FetchStatus status, boolean stays) {
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

    /** The home has the pages: punches out those that were neither written to nor given up since. Zeros need not be fetched again. */
    private void completeWrite(int first, int count, boolean zero) {
        writtenBack.add(count);
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
            boolean out = punch(page, run);
            for (int p = page; p < page + run; p++) {
                table.setState(p, !out ? PageTable.DIRTY : zero ? PageTable.ZERO : PageTable.REMOTE);
                if (out && zero) {
                    table.clear(p, PageTable.HAS_REMOTE_COPY);
                }
            }
            evictions.add(out ? run : 0);
            i += run;
        }
    }
}
