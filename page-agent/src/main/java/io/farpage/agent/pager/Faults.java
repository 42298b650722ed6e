package io.farpage.agent.pager;

import java.util.function.IntConsumer;
import java.util.function.LongSupplier;

/**
 * Resolves the faults of one address space: starts what each needs, or has it wait for room. What a fault asks for first is on its way
 * before anything is fetched ahead of it.
 */
final class Faults implements KernelMessages.Receiver {
    /** Bytes that one fault may have fetched: of large pages few. */
    private static final int MAX_AHEAD_BYTES = 8 << 20;

    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final Transfers transfers;
    private final Installer installer;
    private final Arrivals arrivals;
    private final PagerCounters counters;
    private final Heat heat;
    private final Room room;
    private final IntConsumer forked;
    private final LongSupplier clock;
    private final Streams streams;
    private final Streams stores;
    private final WaitingFaults queue;
    private int brought;

    /** How many pages may come at the moment. */
    @FunctionalInterface
    interface Room {
        /** Pages of an extent that may come, up to {@link PagerOptions#MAX_RUN}; 0 or less if none. */
        int pages(int extent);
    }

    /**
     * @param prefetchPages pages that one fault may bring at most
     * @param forked what to do with the descriptor of a child's memory
     */
    Faults(
            PageTable table,
            GuestLayout layout,
            Homes homes,
            Transfers transfers,
            Installer installer,
            Arrivals arrivals,
            PagerCounters counters,
            Heat heat,
            int prefetchPages,
            Room room,
            IntConsumer forked,
            LongSupplier clock) {
        this.table = table;
        this.layout = layout;
        this.homes = homes;
        this.transfers = transfers;
        this.installer = installer;
        this.arrivals = arrivals;
        this.counters = counters;
        this.heat = heat;
        this.room = room;
        this.forked = forked;
        this.clock = clock;
        queue = new WaitingFaults(homes);
        int ahead = Math.min(transfers.share(), Math.max(1, MAX_AHEAD_BYTES / layout.pageBytes()));
        streams = new Streams(Math.min(prefetchPages, ahead));
        // To be wrong about a store costs writing the page back.
        stores = new Streams(Math.min(prefetchPages, transfers.maxRun()));
    }

    /** Faults that wait for room. */
    WaitingFaults queue() {
        return queue;
    }

    /** The streams of reads and first stores. */
    Streams streams() {
        return streams;
    }

    /**
     * The guest gives pages up: they read as zeros from now on. The kernel takes them out only after this was read, so what is resident a
     * moment longer must not be looked at again, least of all be written back. Threads that wait for one of them to be fetched are woken; they
     * fault again and get zeros.
     */
    @Override
    public void removed(int first, int count) {
        if (table.become(first, count, PageTable.ZERO, PageTable.FETCHING)) {
            transfers.remove(first, count);
            installer.wake(first, count);
        }
        counters.removed().add(count);
    }

    @Override
    public void cut(int page) {
        table.cut(page, clock.getAsLong());
    }

    @Override
    public void forked(int descriptor) {
        forked.accept(descriptor);
    }

    @Override
    public void fault(int page, boolean write, boolean writeProtect, long seenAt) {
        switch (table.kind(page)) {
            case PageTable.ZERO, PageTable.REMOTE -> {
                if (writeProtect) {
                    // It was taken out while the store waited: let it be tried again.
                    installer.wake(page);
                } else if (!table.has(page, PageTable.QUEUED) && !resolve(page, write, seenAt)) {
                    await(page, write, seenAt);
                }
            }
            case PageTable.FETCHING -> {
                counters.repeated().add(1);
                if (write) {
                    transfers.wantForWrite(page);
                }
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
            case PageTable.LOST -> arrivals.poison(page);
            default -> throw new AssertionError(table.kind(page));
        }
    }

    @Override
    public void minor(int page, long seenAt) {
        boolean fetching = table.kind(page) == PageTable.FETCHING;
        int mapped = installer.map(page);
        if (mapped == Installer.ABSENT) {
            // It was taken out of the page cache meanwhile.
            fault(page, false, false, seenAt);
            return;
        }
        counters.repeated().add(1);
        if (mapped > 0 && fetching) {
            transfers.remove(page);
        } else if (mapped == 0 && !fetching && !table.has(page, PageTable.QUEUED)) {
            await(page, false, seenAt);
        }
    }

    private void await(int page, boolean write, long seenAt) {
        table.set(page, PageTable.QUEUED);
        queue.add(page, write, seenAt);
        counters.waits().add(1);
    }

    /** Starts what a fault of a page that is not here needs; false if there is no room at the moment. */
    private boolean resolve(int page, boolean write, long seenAt) {
        int extent = homes.extent(page);
        int free = room.pages(extent);
        if (free <= 0 || installer.isPaused()) {
            return false;
        }
        int foreseen = streams.fault(page);
        heat.add(page);
        int most = Math.min(free, foreseen);
        int reach = most == 1 ? 1 : homes.contiguous(extent, page, layout.contiguous(page, most));
        int spanned = span(page, reach, write, seenAt);
        if (spanned == 0) {
            streams.takeBack();
            return false;
        }
        if (spanned < reach || (spanned == free && spanned < foreseen)) {
            streams.crowd(spanned, brought);
        } else if (spanned < foreseen) {
            streams.cut(spanned, brought);
        } else if (foreseen > 1) {
            streams.span(spanned + here(page + spanned, foreseen), brought);
        }
        for (int ahead = 1; ahead <= streams.strides() && ahead < free; ahead++) {
            arrivals.prefetch(page + ahead * streams.stride(), 1);
        }
        return true;
    }

    /**
     * Brings a page, and of those behind it all that are where it was; what is here already, such as a page that eviction passed over, is no
     * end of a stream. How many pages that were brought is in {@link #brought}.
     *
     * @return how many pages were dealt with, fewer than {@code reach} if there is not room for all, 0 if there is none at all
     */
    private int span(int page, int reach, boolean write, long seenAt) {
        int kind = table.kind(page);
        int run = 1 + run(page + 1, reach - 1, kind);
        int spanned = bring(page, run, kind, write, seenAt);
        brought = spanned;
        boolean goesOn = spanned == run;
        while (goesOn && spanned < reach) {
            int next = page + spanned;
            run = run(next, reach - spanned, kind);
            int more = run == 0 ? 1 : bring(next, run, kind, false, Arrivals.NOBODY_WAITS);
            goesOn = run == 0 || more == run;
            brought += run == 0 ? 0 : more;
            spanned += more;
        }
        return spanned;
    }

    /** How many pages from one on are of a kind, and nobody waits for them in the queue. */
    private int run(int page, int reach, int kind) {
        int run = 0;
        while (run < reach && table.kind(page + run) == kind && !table.has(page + run, PageTable.QUEUED)) {
            run++;
        }
        return run;
    }

    private int bring(int page, int count, int kind, boolean write, long seenAt) {
        return kind == PageTable.ZERO ? installZeros(page, count, seenAt) : fetch(page, count, write, seenAt);
    }

    /** How many pages from one on are here, up to {@code most}. */
    private int here(int page, int most) {
        int end = Math.min(table.pages() - page, most);
        int here = 0;
        while (here < end && table.isResident(page + here)) {
            here++;
        }
        return here;
    }

    /** Fetches a page and those behind it, in transfers that keep nobody waiting for long. Returns how many pages. */
    private int fetch(int page, int count, boolean write, long seenAt) {
        int most = transfers.maxRun();
        int had = arrivals.fetch(page, Math.min(count, most), write, seenAt);
        boolean goesOn = had == most;
        while (goesOn && had < count) {
            int run = Math.min(count - had, most);
            int more = arrivals.fetch(page + had, run, false, Arrivals.NOBODY_WAITS);
            goesOn = more == run;
            had += more;
        }
        return had;
    }

    private int installZeros(int page, int count, long seenAt) {
        int settled = installer.zero(page, count);
        if (settled > 0) {
            int asked = seenAt == Arrivals.NOBODY_WAITS ? 0 : 1;
            counters.zeros().add(asked);
            counters.prefetched().add((long) settled - asked);
            if (asked > 0) {
                table.set(page, PageTable.REFERENCED);
            }
        }
        return settled;
    }

    /** Lets the guest write to a clean page, and to those that it is about to write to next. False if that must be tried again. */
    private boolean allowWrites(int page) {
        int foreseen = stores.fault(page);
        int reach = foreseen == 1 ? 1 : layout.contiguous(page, foreseen);
        int run = 1;
        while (run < reach && mayBeWritten(page + run)) {
            run++;
        }
        int writable = installer.unprotect(page, run);
        if (writable == 0) {
            stores.takeBack();
            return false;
        }
        run = writable;
        if (run < foreseen) {
            stores.cut(run, run);
        }
        for (int i = 0; i < run; i++) {
            // A write-back under way goes on; what it writes no longer counts.
            table.become(page + i, PageTable.DIRTY);
        }
        table.set(page, PageTable.REFERENCED);
        counters.writeProtect().add(1);
        return true;
    }

    /** Whether allowing stores to a page, beside another, takes nothing away from a write-back under way. */
    private boolean mayBeWritten(int page) {
        int kind = table.kind(page);
        return kind == PageTable.CLEAN || kind == PageTable.DIRTY;
    }

    /** A fault of a page that is here: it came meanwhile, or the VMM took it away without a word, and then it is zeros. */
    private void present(int page) {
        counters.repeated().add(1);
        if (installer.zero(page, 1) == 0) {
            await(page, false, clock.getAsLong());
        }
    }

    /** Tries again what waits for room: of each home until one cannot be served. Returns how many faults were dealt with. */
    int serveQueue() {
        int work = 0;
        for (int number = queue.queues() - 1; number >= 0 && !queue.isEmpty(); number--) {
            work += serve(number, queue.queue(number));
        }
        return work;
    }

    private int serve(int number, FaultQueue waiting) {
        int work = 0;
        for (int left = waiting.size(); left > 0; left--) {
            int page = waiting.page();
            boolean write = waiting.isWrite();
            boolean served = switch (table.kind(page)) {
                case PageTable.ZERO, PageTable.REMOTE -> resolve(page, write, waiting.seenAt());
                case PageTable.CLEAN, PageTable.DIRTY, PageTable.EVICTING -> settleWaiting(page, write);
                default -> true;
            };
            if (!served) {
                return work;
            }
            queue.remove(number);
            table.clear(page, PageTable.QUEUED);
            work++;
        }
        return work;
    }

    /** A page that was waited for is here: whoever waits may write to it, if that is what was asked for, and is woken. */
    private boolean settleWaiting(int page, boolean write) {
        if (write) {
            return allowWrites(page);
        }
        installer.wake(page);
        return true;
    }
}
