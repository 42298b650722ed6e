package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fetches runs of pages from their homes and installs those that have arrived. */
final class Arrivals {
    /** Stands for the time of a fault where there is none: the pages are prefetched. */
    static final long PREFETCH = Long.MIN_VALUE;

    private static final Logger log = LoggerFactory.getLogger(Arrivals.class);

    private final String space;
    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final Fetcher fetcher;
    private final Transfers transfers;
    private final Installer installer;
    private final PagePool pool;
    private final PagerCounters counters;
    private final LongSupplier clock;

    /** Pages that are lost and not poisoned yet. */
    private final FaultQueue unpoisoned = new FaultQueue();

    private final int[] arrived;
    private int arrivedCount;
    private int incoming;

    Arrivals(
            String space,
            PageTable table,
            GuestLayout layout,
            Homes homes,
            Fetcher fetcher,
            Transfers transfers,
            Installer installer,
            PagePool pool,
            PagerCounters counters,
            LongSupplier clock) {
        this.space = space;
        this.table = table;
        this.layout = layout;
        this.homes = homes;
        this.fetcher = fetcher;
        this.transfers = transfers;
        this.installer = installer;
        this.pool = pool;
        this.counters = counters;
        this.clock = clock;
        this.arrived = new int[fetcher.capacity()];
    }

    /** Pages that were requested and are not installed yet. */
    int incoming() {
        return incoming;
    }

    /** Whether something has arrived that is not installed, or is lost and not poisoned. */
    boolean isWaiting() {
        return arrivedCount > 0 || !unpoisoned.isEmpty();
    }

    /** Whether more than half of the slots are free, so that prefetching does not delay faults. */
    boolean hasSlotsToSpare() {
        return fetcher.inUse() < fetcher.capacity() / 2;
    }

    /**
     * Fetches a run of remote pages.
     *
     * @param write whether the guest is about to write to them
     * @param seenAt when the fault was seen, or {@link #PREFETCH}
     * @return pages that are being fetched: fewer than {@code count} if slots or staging frames run short, 0 if none is free
     */
    int fetch(int page, int count, boolean write, long seenAt) {
        int extent = homes.extent(page);
        if (homes.isLost(extent)) {
            lose(page);
            return count;
        }
        Home home = homes.home(extent);
        int had = home == null
                ? installer.copy(
                        page, count, pool.exportedAddress() + homes.offset(extent, page), write || table.isCut(page))
                : post(home, extent, page, count, write, seenAt);
        if (had > 0) {
            int asked = seenAt == PREFETCH ? 0 : 1;
            counters.fetched().add(asked);
            counters.prefetched().add((long) had - asked);
        }
        return had;
    }

    /**
     * Prefetches the pages of a run that are in state {@link PageTable#REMOTE}, up to the first that is not.
     *
     * @return how many pages the call has dealt with, 0 if slots or staging frames run short
     */
    int prefetch(int page, int count) {
        if (page < 0 || page >= table.pages() || layout.addressOf(page) == GuestLayout.NONE) {
            return 1;
        }
        int most = Math.min(count, transfers.maxRun());
        int reach = homes.contiguous(homes.extent(page), page, layout.contiguous(page, most));
        int remote = 0;
        while (remote < reach && table.state(page + remote) == PageTable.REMOTE) {
            remote++;
        }
        return remote == 0 ? 1 : fetch(page, remote, false, PREFETCH);
    }

    private int post(Home home, int extent, int page, int count, boolean write, long seenAt) {
        if (!homes.mayTransfer(home)) {
            return 0;
        }
        int run = count;
        int frame = transfers.allocate(run);
        if (frame == FrameAllocator.NONE && run > 1) {
            run = 1;
            frame = transfers.allocate(run);
        }
        if (frame == FrameAllocator.NONE) {
            return 0;
        }
        int slot = fetcher.read(
                home.link(),
                homes.incarnation(extent),
                homes.offset(extent, page),
                run * layout.pageBytes(),
                transfers.stagingAddress(frame, 0));
        if (slot == Fetcher.NONE) {
            transfers.free(frame, 0, run);
            return 0;
        }
        transfers.begin(slot, page, run, frame, false, write, seenAt);
        transfers.with(slot, home);
        for (int i = 0; i < run; i++) {
            table.setState(page + i, PageTable.FETCHING);
        }
        incoming += run;
        if (seenAt != PREFETCH) {
            table.set(page, PageTable.REFERENCED);
        }
        return run;
    }

    /** The READ of a run has succeeded. */
    void arrived(int slot) {
        transfers.succeeded(slot);
        transfers.arrived(slot, clock.getAsLong());
        arrived[arrivedCount++] = slot;
    }

    /**
     * The READ of a run has failed. Ends its slot.
     *
     * @param again receives pages that are to be fetched again; null if the guest has ended
     */
    void failed(int slot, FetchStatus status, @Nullable WaitingFaults again) {
        int first = transfers.first(slot);
        int count = transfers.count(slot);
        boolean anew = (status == FetchStatus.DEADLINE || status == FetchStatus.REFUSED) && again != null;
        log.error(
                "space {}: fetching pages {} to {} failed: {}{}",
                space,
                first,
                first + count - 1,
                status,
                anew ? "; trying again, the guest waits" : "");
        for (int i = 0; i < count; i++) {
            int page = first + i;
            if (transfers.isRemoved(slot, i)) {
                continue;
            }
            table.setState(page, PageTable.REMOTE);
            if (again == null || status == FetchStatus.CLOSED) {
                continue;
            }
            if (anew) {
                // A thread may wait for any of them by now.
                table.set(page, PageTable.QUEUED);
                again.add(page, transfers.isForWrite(slot), clock.getAsLong());
            } else {
                lose(page);
            }
        }
        incoming -= count;
        transfers.end(slot);
    }

    /** Marks a page as lost: threads that touch it get SIGBUS and never see zeros. */
    void lose(int page) {
        if (table.state(page) != PageTable.LOST) {
            counters.lost().add(1);
            log.error("space {}: page {} is lost with its home; the guest is told by SIGBUS", space, page);
            table.setState(page, PageTable.LOST);
        }
        poison(page);
    }

    /** Schedules a lost page to be poisoned by the next {@link #install}. */
    void poison(int page) {
        unpoisoned.add(page, false, 0);
    }

    private int poisonLost() {
        int work = 0;
        for (int left = unpoisoned.size(); left > 0; left--) {
            int page = unpoisoned.page();
            Installer.Poison poison = Installer.Poison.DONE;
            if (table.state(page) == PageTable.LOST) {
                poison = installer.poison(page);
            } else {
                // The guest has given the page up meanwhile. Threads that wait for it fault again and get zeros.
                installer.wake(page);
            }
            if (poison == Installer.Poison.AGAIN) {
                return work;
            }
            if (poison == Installer.Poison.UNSUPPORTED) {
                log.error(
                        "space {}: this kernel cannot poison pages (UFFDIO_POISON, Linux 6.6); threads that touch page {}"
                                + " wait for ever",
                        space,
                        page);
            }
            unpoisoned.remove();
            work++;
        }
        return work;
    }

    private int discardLost() {
        while (!unpoisoned.isEmpty()) {
            unpoisoned.remove();
        }
        return 0;
    }

    /**
     * Installs pages that have arrived, and poisons pages that are lost. Pages for which the host has no memory give their slot and staging
     * frames back, which eviction may need to free memory. They are {@link PageTable#REMOTE} again, and threads that wait for them fault again.
     *
     * @param wanted whether the guest lives; otherwise all is dropped
     * @return how many runs were dealt with
     */
    int install(boolean wanted) {
        int work = wanted ? poisonLost() : discardLost();
        for (int i = 0; i < arrivedCount; ) {
            int slot = arrived[i];
            if (wanted && !install(slot)) {
                if (!installer.isPaused()) {
                    i++;
                    continue;
                }
                giveBack(slot);
            }
            incoming -= transfers.count(slot);
            transfers.end(slot);
            arrived[i] = arrived[--arrivedCount];
            work++;
        }
        return work;
    }

    private void giveBack(int slot) {
        for (int index = transfers.completed(slot); index < transfers.count(slot); index++) {
            if (!transfers.isRemoved(slot, index)) {
                int page = transfers.first(slot) + index;
                table.setState(page, PageTable.REMOTE);
                installer.wake(page);
            }
        }
    }

    /** Installs the rest of a run that has arrived. False if some pages have to be installed later. */
    private boolean install(int slot) {
        int first = transfers.first(slot);
        int count = transfers.count(slot);
        while (transfers.completed(slot) < count) {
            int index = transfers.completed(slot);
            if (transfers.isRemoved(slot, index)) {
                transfers.complete(slot, 1);
                continue;
            }
            int run = 1;
            while (index + run < count && !transfers.isRemoved(slot, index + run)) {
                run++;
            }
            long source = transfers.stagingAddress(transfers.frame(slot), index);
            boolean write = transfers.isForWrite(slot) || table.isCut(first + index);
            int completed = installer.copy(first + index, run, source, write);
            if (completed == 0) {
                return false;
            }
            transfers.complete(slot, completed);
        }
        if (transfers.seenAt(slot) != PREFETCH) {
            counters.recordFault(transfers.seenAt(slot), transfers.arrivedAt(slot), clock.getAsLong());
        }
        return true;
    }
}
