package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FaultQueue;
import io.farpage.agent.data.pager.memory.FrozenPages;
import io.farpage.agent.data.pager.memory.Heat;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.KernelMessages;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.memory.WaitingFaults;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfer;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;

/**
 * Resolves the page faults of one address space. A fault is served at once, or it is queued until the local limit
 * leaves a free frame. The page that faulted is always requested before the pages that are prefetched behind it.
 */
public final class FaultHandler implements KernelMessages.Receiver {
    /** Bytes that one fault fetches at most, so few large pages. */
    private static final int MAX_AHEAD_BYTES = 8 << 20;

    private final AddressSpace memory;
    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final Staging staging;
    private final Installer installer;
    private final Arrivals arrivals;
    private final Residency residency;
    private final Children children;
    private final PagerCounters counters;
    private final Heat heat;
    private final LongSupplier clock;
    private final ReadaheadPredictor readPredictor;
    private final ReadaheadPredictor writePredictor;
    private final WaitingFaults queue;
    private final FrozenPages frozen;
    /** Wakes the threads that wait for a page, so that they fault again. */
    private final IntConsumer faultAgain;

    private int fetched;
    private int nextQueue;

    /** @param children serves the processes that this one forks */
    public FaultHandler(
            AddressSpace memory, Installer installer, Arrivals arrivals, Residency residency, Children children) {
        this.memory = memory;
        this.installer = installer;
        this.arrivals = arrivals;
        this.residency = residency;
        this.children = children;
        table = memory.table();
        layout = memory.layout();
        queue = memory.waiting();
        PagerContext context = memory.context();
        homes = context.homes();
        staging = context.staging();
        counters = context.counters();
        heat = context.heat();
        frozen = context.frozen();
        clock = context.clock();
        faultAgain = page -> {
            table.clear(page, PageTable.QUEUED);
            memory.wake(page);
        };
        int prefetchPages = context.options().prefetchPages();
        int ahead = Math.min(staging.share(), Math.max(1, MAX_AHEAD_BYTES / layout.pageBytes()));
        readPredictor = new ReadaheadPredictor(Math.min(prefetchPages, ahead));
        // A page that is wrongly made writable has to be written back, so the window of writes is smaller.
        writePredictor = new ReadaheadPredictor(Math.min(prefetchPages, staging.maxRun()));
    }

    /** Faults that wait until the limit leaves a free frame. */
    public WaitingFaults queue() {
        return queue;
    }

    /** Fetches the pages that are missing, and installs them. */
    Arrivals arrivals() {
        return arrivals;
    }

    /** The predictor of reads and of first writes to zero pages. */
    public ReadaheadPredictor readPredictor() {
        return readPredictor;
    }

    /**
     * The guest gives pages up: they read as zeros from now on. The kernel removes them only after this message was
     * read, so a page that is still resident for a moment must not be read again, and must not be written back. Threads
     * that wait for one of these pages are woken; they fault again and get zeros. That includes queued faults: one of a
     * write to a page that was resident must not be resolved as one of a page that was not, which would map the page
     * again if the VMM punches its hole only after the event.
     */
    @Override
    public void removed(int first, int count) {
        frozen.change(first, count, "was given up by the guest");
        queue.removeRange(first, count, faultAgain);
        homes.suspects().remove(first, count);
        if (table.setState(first, count, PageTable.ZERO, PageTable.FETCHING)) {
            arrivals.remove(first, count);
            memory.wake(first, count);
        }
        counters.removed().add(count);
    }

    @Override
    public void removedPart(int page) {
        frozen.change(page, 1, "was given up in part by the guest");
        table.removePart(page, clock.getAsLong());
    }

    @Override
    public void forked(int descriptor) {
        frozen.fail("the VMM has forked");
        children.forked(descriptor, memory, this);
    }

    @Override
    public void fault(int page, boolean write, boolean writeProtect, long seenAt) {
        switch (table.state(page)) {
            case PageTable.ZERO, PageTable.REMOTE -> {
                if (writeProtect) {
                    // An evicted page is no longer mapped. A page that was given up may still be in the file: a VMM
                    // that
                    // punches the hole before it calls madvise(MADV_DONTNEED) lets a fetch install it between the two.
                    installer.discard(page);
                } else if (!table.has(page, PageTable.QUEUED) && !resolve(page, write, seenAt)) {
                    await(page, write, seenAt);
                }
            }
            case PageTable.FETCHING -> {
                counters.repeated().add(1);
                arrivals.want(page, write);
            }
            case PageTable.CLEAN, PageTable.DIRTY, PageTable.EVICTING -> {
                if (writeProtect) {
                    if (!allowWrites(page)) {
                        await(page, true, seenAt);
                    }
                } else {
                    present(page);
                }
            }
            case PageTable.LOST -> arrivals.lost().add(page);
            default -> throw new AssertionError(table.state(page));
        }
    }

    @Override
    public void minor(int page, long seenAt) {
        frozen.change(page, 1, "was unmapped by the VMM");
        boolean fetching = table.state(page) == PageTable.FETCHING;
        int mapped = installer.map(page);
        if (mapped == Installer.ABSENT) {
            // The page left the page cache after the fault.
            fault(page, false, false, seenAt);
            return;
        }
        counters.repeated().add(1);
        if (mapped > 0 && fetching) {
            arrivals.remove(page, 1);
        } else if (mapped == 0 && !fetching && !table.has(page, PageTable.QUEUED)) {
            await(page, false, seenAt);
        }
    }

    private void await(int page, boolean write, long seenAt) {
        table.set(page, PageTable.QUEUED);
        queue.add(page, write, seenAt);
        counters.waits().add(1);
    }

    /**
     * Requests a page that is not resident, and the pages predicted to follow. False if no frame or no transfer is
     * free.
     */
    private boolean resolve(int page, boolean write, long seenAt) {
        int extent = homes.extent(page);
        int free = residency.freeFrames(extent);
        if (free <= 0 || installer.hostMemory().isPaused()) {
            return false;
        }
        int foreseen = readPredictor.fault(page);
        int most = Math.min(free, foreseen);
        int reach = most == 1 ? 1 : homes.contiguous(extent, page, layout.contiguous(page, most));
        int covered = resolveRun(page, reach, write, seenAt);
        if (covered == 0) {
            readPredictor.undo();
            return false;
        }
        heat.add(page);
        residency.parking().onFault(seenAt);
        if (covered < reach || (covered == free && covered < foreseen)) {
            readPredictor.throttled(covered, fetched);
        } else if (covered < foreseen) {
            readPredictor.truncated(covered, fetched);
        } else if (foreseen > 1) {
            readPredictor.covered(covered + residentFrom(page + covered, foreseen), fetched);
        }
        for (int ahead = 1; ahead <= readPredictor.strides() && ahead < free; ahead++) {
            arrivals.prefetch(page + ahead * readPredictor.stride(), 1);
        }
        return true;
    }

    /**
     * Requests a page and those of the next {@code reach - 1} that are in the same state. Pages between them that are
     * resident, such as pages that eviction skipped, do not end the run. Sets {@link #fetched} to the number of pages
     * requested.
     *
     * @return how many pages the run covers: {@code reach}, fewer if a resource ran out, 0 if nothing could be
     *     requested
     */
    private int resolveRun(int page, int reach, boolean write, long seenAt) {
        int state = table.state(page);
        int run = 1 + run(page + 1, reach - 1, state);
        int covered = start(page, run, state, write, seenAt);
        fetched = covered;
        boolean goesOn = covered == run;
        while (goesOn && covered < reach) {
            int next = page + covered;
            run = run(next, reach - covered, state);
            int more = run == 0 ? 1 : start(next, run, state, false, Transfer.PREFETCH);
            goesOn = run == 0 || more == run;
            fetched += run == 0 ? 0 : more;
            covered += more;
        }
        return covered;
    }

    /** How many pages from {@code page} on are in a state and have no fault in the queue. */
    private int run(int page, int reach, int state) {
        int run = 0;
        while (run < reach && table.state(page + run) == state && !table.has(page + run, PageTable.QUEUED)) {
            run++;
        }
        return run;
    }

    private int start(int page, int count, int state, boolean write, long seenAt) {
        return state == PageTable.ZERO ? installZeros(page, count, seenAt) : fetch(page, count, write, seenAt);
    }

    /** How many pages from {@code page} on are resident, up to {@code most}. */
    private int residentFrom(int page, int most) {
        int end = Math.min(table.pages() - page, most);
        int resident = 0;
        while (resident < end && table.isResident(page + resident)) {
            resident++;
        }
        return resident;
    }

    /**
     * Fetches a page and those behind it in transfers of at most {@code maxRun} pages, so that the first arrives early.
     * Returns how many.
     */
    private int fetch(int page, int count, boolean write, long seenAt) {
        int most = staging.maxRun();
        int had = arrivals.fetch(page, Math.min(count, most), write, seenAt);
        boolean goesOn = had == most;
        while (goesOn && had < count) {
            int run = Math.min(count - had, most);
            int more = arrivals.fetch(page + had, run, false, Transfer.PREFETCH);
            goesOn = more == run;
            had += more;
        }
        return had;
    }

    private int installZeros(int page, int count, long seenAt) {
        int installed = installer.zero(page, count);
        if (installed > 0) {
            int asked = seenAt == Transfer.PREFETCH ? 0 : 1;
            counters.zeros().add(asked);
            counters.prefetched().add((long) installed - asked);
            if (asked > 0) {
                table.set(page, PageTable.REFERENCED);
            }
        }
        return installed;
    }

    /**
     * Makes a page writable, and the pages predicted to be written next. False if that must be retried, such as when a
     * snapshot needs the page first.
     */
    private boolean allowWrites(int page) {
        if (frozen.holds(page)) {
            frozen.want(page);
            return false;
        }
        int foreseen = writePredictor.fault(page);
        int reach = foreseen == 1 ? 1 : layout.contiguous(page, foreseen);
        int run = 1;
        while (run < reach && mayBeWritten(page + run)) {
            run++;
        }
        frozen.writable(page, run);
        // Before the guest may write to them: a process that adopts the table must not take a page for clean that is
        // not.
        int first = table.state(page);
        long clean = markDirty(page, run);
        int writable = memory.protection().unprotect(page, run);
        restore(page, run, memory.protection().maybeWritable(), first, clean);
        if (writable == 0) {
            writePredictor.undo();
            return false;
        }
        run = writable;
        if (run < foreseen) {
            writePredictor.truncated(run, run);
        }
        table.set(page, PageTable.REFERENCED);
        counters.writeProtect().add(1);
        return true;
    }

    /**
     * Marks a run of resident pages as dirty; a write-back of one that is under way completes, but the page stays
     * dirty. Returns a bit for each that was clean.
     */
    private long markDirty(int page, int run) {
        long clean = 0;
        for (int i = 0; i < run; i++) {
            clean |= table.state(page + i) == PageTable.CLEAN ? 1L << i : 0;
            table.setState(page + i, PageTable.DIRTY);
        }
        return clean;
    }

    /** Pages of the run from the {@code done}th on are as protected as they were. The others stay dirty. */
    private void restore(int page, int run, int done, int first, long clean) {
        for (int i = done; i < run; i++) {
            if (i == 0) {
                table.setState(page, first);
            } else if ((clean & (1L << i)) != 0) {
                table.setState(page + i, PageTable.CLEAN);
            }
        }
    }

    /** Whether a page may become writable together with another one: no write-back of it is under way. */
    private boolean mayBeWritten(int page) {
        int state = table.state(page);
        return state == PageTable.CLEAN || (state == PageTable.DIRTY && !frozen.holds(page));
    }

    /**
     * A fault of a resident page: it was installed after the fault, or the VMM removed it without an event, and then it
     * reads as zeros.
     */
    private void present(int page) {
        counters.repeated().add(1);
        if (frozen.isActive() && !memory.isInFile(page)) {
            frozen.change(page, 1, "was removed by the VMM");
        }
        if (installer.zero(page, 1) == 0) {
            await(page, false, clock.getAsLong());
        }
    }

    /**
     * Retries queued faults, for each home until one cannot be served. The queues take turns to be the first. Returns
     * how many were served.
     */
    public int serveQueue() {
        if (queue.isEmpty()) {
            return 0;
        }
        int work = 0;
        int queues = queue.queues();
        nextQueue = nextQueue + 1 < queues ? nextQueue + 1 : 0;
        for (int i = 0; i < queues && !queue.isEmpty(); i++) {
            int number = nextQueue + i < queues ? nextQueue + i : nextQueue + i - queues;
            work += serve(number, queue.queue(number));
        }
        return work;
    }

    private int serve(int number, FaultQueue waiting) {
        int work = 0;
        for (int left = waiting.size(); left > 0; left--) {
            int page = waiting.page();
            boolean write = waiting.isWrite();
            boolean served = switch (table.state(page)) {
                case PageTable.ZERO, PageTable.REMOTE -> resolve(page, write, waiting.seenAt());
                case PageTable.CLEAN, PageTable.DIRTY, PageTable.EVICTING -> completeWaiting(page, write);
                default -> true;
            };
            if (served) {
                queue.remove(number);
                table.clear(page, PageTable.QUEUED);
                work++;
            } else if (!queue.move(number)) {
                return work;
            }
        }
        return work;
    }

    /**
     * Completes a queued fault of a page that is now resident: the waiting threads are woken, with write access if a
     * write faulted.
     */
    private boolean completeWaiting(int page, boolean write) {
        if (write) {
            return allowWrites(page);
        }
        memory.wake(page);
        return true;
    }
}
