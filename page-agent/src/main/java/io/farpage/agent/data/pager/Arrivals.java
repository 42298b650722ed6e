package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Pages on their way here: fetches runs of them from their homes, and installs what has arrived. */
final class Arrivals {
    /** In the place of the moment at which a fault was seen, for pages that are fetched ahead of being asked for. */
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

    /** Pages that have been asked for and are not installed yet. */
    int incoming() {
        return incoming;
    }

    /** Whether something has arrived that is not installed, or is lost and not poisoned. */
    boolean isWaiting() {
        return arrivedCount > 0 || !unpoisoned.isEmpty();
    }

    /** Whether more than half of the slots are free, so that what nobody waits for stands in nobody's way. */
    boolean hasSlotsToSpare() {
        return fetcher.inUse() < fetcher.capacity() / 2;
    }

    /**
     * Fetches a run of remote pages.
     *
     * @param write whether the guest is about to write to them
     * @param seenAt when the fault was seen, or {@link #PREFETCH}
     * @return how many pages, fewer than asked if there is not room for all, 0 if there is none at the moment
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
     * Fetches what of a run of pages is at its home, without anybody waiting for it.
     *
     * @return how many pages were dealt with, 0 if there is no room
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

    /** Takes a run whose READ has succeeded. */
    void arrived(int slot) {
        transfers.succeeded(slot);
        transfers.arrived(slot, clock.getAsLong());
        arrived[arrivedCount++] = slot;
    }

    /**
     * Takes a run whose READ has failed, and ends its slot.
     *
     * @param again where the pages go that are to be fetched anew; null if the guest has ended
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
                // Any of them may be waited for by now.
                table.set(page, PageTable.QUEUED);
                again.add(page, transfers.isForWrite(slot), clock.getAsLong());
            } else {
                lose(page);
            }
        }
        incoming -= count;
        transfers.end(slot);
    }

    /** The page cannot be had: threads that touch it get SIGBUS, and never see zeros. */
    void lose(int page) {
        if (table.state(page) != PageTable.LOST) {
            counters.lost().add(1);
            log.error("space {}: page {} is lost with its home; the guest is told by SIGBUS", space, page);
            table.setState(page, PageTable.LOST);
        }
        poison(page);
    }

    /** Has a lost page poisoned by the next {@link #install}. */
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
                // The guest has given the page up meanwhile: threads that wait for it fault again and get zeros.
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
     * Installs what has arrived, and poisons what is lost. Pages for which the host has no memory are given back: if they kept their slot and
     * staging frames, eviction could be short of these, and no memory would ever become free. Threads that wait for such a page fault again.
     *
     * @param wanted whether there is still a guest to install it for
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
        for (int index = transfers.settled(slot); index < transfers.count(slot); index++) {
            if (!transfers.isRemoved(slot, index)) {
                int page = transfers.first(slot) + index;
                table.setState(page, PageTable.REMOTE);
                installer.wake(page);
            }
        }
    }

    /** Installs what is left of a run that has arrived; false if some of it has to be tried again. */
    private boolean install(int slot) {
        int first = transfers.first(slot);
        int count = transfers.count(slot);
        while (transfers.settled(slot) < count) {
            int index = transfers.settled(slot);
            if (transfers.isRemoved(slot, index)) {
                transfers.settle(slot, 1);
                continue;
            }
            int run = 1;
            while (index + run < count && !transfers.isRemoved(slot, index + run)) {
                run++;
            }
            long source = transfers.stagingAddress(transfers.frame(slot), index);
            boolean write = transfers.isForWrite(slot) || table.isCut(first + index);
            int settled = installer.copy(first + index, run, source, write);
            if (settled == 0) {
                return false;
            }
            transfers.settle(slot, settled);
        }
        if (transfers.seenAt(slot) != PREFETCH) {
            counters.recordFault(transfers.seenAt(slot), transfers.arrivedAt(slot), clock.getAsLong());
        }
        return true;
    }
}
