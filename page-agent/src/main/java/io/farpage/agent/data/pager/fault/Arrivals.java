package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.SuspectPages;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.LostPages;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.memory.WaitingFaults;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.VictimCache;
import io.farpage.agent.data.pager.transfer.Sealing;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.pool.PagePool;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fetches runs of pages from their homes and installs those that have arrived. */
public final class Arrivals implements Transfer.Owner {
    private static final Logger log = LoggerFactory.getLogger(Arrivals.class);

    private final AddressSpace memory;
    private final String space;
    private final PageTable table;
    private final GuestLayout layout;
    private final WaitingFaults waiting;
    private final Installer installer;
    private final Homes homes;
    private final Staging staging;
    private final Transfers transfers;
    private final PagePool pool;
    private final PagerCounters counters;
    private final LongSupplier clock;
    private final Sealing sealing;

    private final LostPages lost;
    private final VictimCache victims;

    private final Transfer[] arrived;
    private int arrivedCount;
    private int incoming;
    private boolean ended;

    /** @param memory that the pages are installed in */
    public Arrivals(AddressSpace memory, Installer installer) {
        this.memory = memory;
        this.installer = installer;
        victims = memory.victims();
        table = memory.table();
        layout = memory.layout();
        waiting = memory.waiting();
        PagerContext context = memory.context();
        space = context.space();
        homes = context.homes();
        staging = context.staging();
        transfers = context.transfers();
        pool = context.pool();
        counters = context.counters();
        clock = context.clock();
        sealing = context.sealing();
        lost = new LostPages(memory);
        arrived = new Transfer[transfers.capacity()];
    }

    /** The guest has ended: from now on, pages that arrive are dropped. */
    public void end() {
        ended = true;
    }

    /** Pages that are lost with their home. */
    public LostPages lost() {
        return lost;
    }

    /** Pages that were requested and are not installed yet. */
    public int incoming() {
        return incoming;
    }

    /** Whether something has arrived that is not installed, or is lost and not poisoned. */
    public boolean isWaiting() {
        return arrivedCount > 0 || lost.isWaiting();
    }

    /** Whether more than half of the slots are free, so that prefetching does not delay faults. */
    boolean hasSlotsToSpare() {
        return transfers.inUse() < transfers.capacity() / 2;
    }

    /**
     * Fetches a run of remote pages, or installs those at once that were evicted a moment ago.
     *
     * @param write whether the guest is about to write to them
     * @param seenAt when the fault was seen, or {@link Transfer#PREFETCH}
     * @return pages that are being fetched, or were installed: fewer than {@code count} if slots or staging frames run
     *     short, 0 if none is free or the home is down
     */
    int fetch(int page, int count, boolean write, long seenAt) {
        int extent = homes.extent(page);
        if (homes.isLost(extent)) {
            lost.lose(page);
            return count;
        }
        int victimRun = victims.run(page, count);
        if (victimRun > 0) {
            int had = installVictims(page, victimRun, write, seenAt);
            boolean isEnd = had < victimRun || had == count;
            return isEnd ? had : had + fetch(page + had, count - had, false, Transfer.PREFETCH);
        }
        boolean isSuspect = homes.suspects().tried(page) != 0;
        Home home = isSuspect ? homes.homeOf(page) : homes.home(extent);
        int run = isSuspect ? 1 : trusted(page, count);
        int had = home == null ? copyLocal(page, run, write, seenAt) : post(home, page, run, write, seenAt);
        if (had > 0) {
            int asked = seenAt == Transfer.PREFETCH ? 0 : 1;
            counters.fetched().add(asked);
            counters.prefetched().add((long) had - asked);
        }
        return had;
    }

    /** Installs pages that were evicted a moment ago, which have changed at no home since. */
    private int installVictims(int page, int count, boolean write, long seenAt) {
        int had = installer.copy(page, count, victims.address(page), write);
        victims.returned(page, had);
        if (had > 0 && seenAt != Transfer.PREFETCH) {
            table.set(page, PageTable.REFERENCED);
            counters.victims().add(1);
        }
        return had;
    }

    /** How many pages of a run come before the next that did not open from a home; 1 at least. */
    private int trusted(int page, int count) {
        SuspectPages suspects = homes.suspects();
        int run = suspects.isEmpty() ? count : 1;
        while (run < count && suspects.tried(page + run) == 0) {
            run++;
        }
        return run;
    }

    /**
     * Installs pages whose home this node is. Pages that are sealed are opened in a staging frame, one at a time. One
     * that does not open is fetched from another home.
     */
    private int copyLocal(int page, int count, boolean write, long seenAt) {
        long source = pool.exportedAddress() + homes.localOffset(homes.extent(page), page);
        boolean isForWrite = write || table.isPartlyRemoved(page);
        if (!sealing.isOn()) {
            return installer.copy(page, count, source, isForWrite);
        }
        int frame = staging.allocate(Staging.reads(null), 1);
        if (frame == Staging.NONE) {
            return 0;
        }
        boolean isOpen = sealing.open(page, source, frame);
        int done = isOpen ? installer.copy(page, 1, staging.address(frame), isForWrite) : 1;
        staging.free(frame, 1);
        if (isOpen) {
            homes.suspects().remove(page);
        } else if (isElsewhere(page, null)) {
            Home other = homes.homeOf(page);
            done = other == null ? 0 : post(other, page, 1, write, seenAt);
        } else {
            lost.altered(page);
        }
        return done;
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
        int most = Math.min(count, staging.maxRun());
        int reach = homes.contiguous(homes.extent(page), page, layout.contiguous(page, most));
        int remote = 0;
        while (remote < reach && table.state(page + remote) == PageTable.REMOTE) {
            remote++;
        }
        return remote == 0 ? 1 : fetch(page, remote, false, Transfer.PREFETCH);
    }

    /**
     * Starts to fetch pages. A home whose link is down, or that is silent, gets no frames: faults of its pages wait in
     * their queue.
     */
    private int post(Home home, int page, int count, boolean write, long seenAt) {
        if (!homes.remotes().takesReads(home)) {
            return 0;
        }
        int run = count;
        int frame = staging.allocate(Staging.reads(home), run);
        if (frame == Staging.NONE && run > 1) {
            run = 1;
            frame = staging.allocate(Staging.reads(home), run);
        }
        if (frame == Staging.NONE) {
            return 0;
        }
        Transfer.Kind kind = seenAt == Transfer.PREFETCH ? Transfer.Kind.PREFETCH : Transfer.Kind.FETCH;
        Transfer fetch = transfers.begin(kind, page, run, frame);
        if (fetch == null) {
            staging.free(frame, run);
            return 0;
        }
        fetch.fetchesFor(this, write, seenAt);
        for (int i = 0; i < run; i++) {
            table.setState(page + i, PageTable.FETCHING);
        }
        incoming += run;
        if (seenAt != Transfer.PREFETCH) {
            table.set(page, PageTable.REFERENCED);
        }
        return run;
    }

    /** The guest has given pages up: those that are being fetched are not installed. */
    public void remove(int first, int count) {
        transfers.remove(this, first, count);
    }

    /** A thread waits for a page that is being fetched, to write to it or to read it. */
    public void want(int page, boolean write) {
        transfers.want(this, page, write);
    }

    @Override
    public void completed(Transfer fetch, FetchStatus status) {
        if (status == FetchStatus.OK) {
            if (sealing.isOn() && !ended) {
                open(fetch);
            }
            fetch.arrived(clock.getAsLong());
            arrived[arrivedCount++] = fetch;
        } else {
            failed(fetch, status);
        }
    }

    /**
     * Opens the pages of a run in place. A page that was given up meanwhile is not installed, and may have been sealed
     * anew since. A page that is not what was sealed is fetched once from each of its other homes, and lost then: no
     * write of it was under way when it was fetched, so what came is what the home or the path made of it, and fetching
     * it again would only give a home that lies another try.
     */
    private void open(Transfer fetch) {
        for (int i = 0; i < fetch.count(); i++) {
            int page = fetch.first() + i;
            int frame = staging.frameOf(fetch.frame(), i);
            if (!fetch.isRemoved(i) && !sealing.open(page, staging.address(frame), frame)) {
                if (isElsewhere(page, fetch.home())) {
                    again(page, fetch.isForWrite());
                } else {
                    lost.altered(page);
                }
                fetch.remove(page, 1);
            } else if (!fetch.isRemoved(i)) {
                homes.suspects().remove(page);
            }
        }
    }

    /** A page did not open. Returns whether another home may have it as it was sealed. */
    private boolean isElsewhere(int page, @Nullable Home liar) {
        if (!homes.suspect(page, liar)) {
            return false;
        }
        log.error(
                "space {}: page {} came from node {} other than it was sealed; asking another home",
                space,
                page,
                liar == null ? "" : liar.link().peer());
        counters.integrityFailures().add(1);
        return true;
    }

    private void again(int page, boolean write) {
        table.setState(page, PageTable.REMOTE);
        table.set(page, PageTable.QUEUED);
        waiting.add(page, write, clock.getAsLong());
    }

    /**
     * The page that faulted is fetched again, and threads that wait for a page behind it fault again; or the threads
     * learn that the pages are lost.
     */
    private void failed(Transfer fetch, FetchStatus status) {
        int first = fetch.first();
        int count = fetch.count();
        boolean elsewhere = !homes.isLost(homes.extent(first)) && homes.copies(homes.extent(first)) > 1;
        boolean again = !ended
                && (status == FetchStatus.DEADLINE
                        || status == FetchStatus.REFUSED
                        || status == FetchStatus.UNREACHABLE
                        || (status == FetchStatus.PAGE_LOST && elsewhere));
        if (status != FetchStatus.UNREACHABLE) {
            log.error(
                    "space {}: fetching pages {} to {} failed: {}{}",
                    space,
                    first,
                    first + count - 1,
                    status,
                    again ? "; trying again, the guest waits" : "");
        }
        for (int i = 0; i < count; i++) {
            int page = first + i;
            if (fetch.isRemoved(i)) {
                continue;
            }
            table.setState(page, PageTable.REMOTE);
            if (ended || status == FetchStatus.CLOSED) {
                continue;
            }
            if (!again) {
                lost.lose(page);
            } else if (i == 0 && fetch.seenAt() != Transfer.PREFETCH) {
                again(page, fetch.isForWrite());
            } else {
                memory.wake(page);
            }
        }
        incoming -= count;
        transfers.end(fetch);
    }

    /**
     * Installs pages that have arrived, and poisons pages that are lost. Pages for which the host has no memory give
     * their slot and staging frames back, which eviction may need to free memory. They are {@link PageTable#REMOTE}
     * again, and threads that wait for them fault again.
     *
     * @return how many runs were dealt with
     */
    public int install() {
        int work = ended ? lost.discard() : lost.poison();
        for (int i = 0; i < arrivedCount; ) {
            Transfer run = arrived[i];
            if (!ended && !install(run)) {
                if (!installer.hostMemory().isPaused()) {
                    i++;
                    continue;
                }
                giveBack(run);
            }
            incoming -= run.count();
            transfers.end(run);
            arrived[i] = arrived[--arrivedCount];
            work++;
        }
        return work;
    }

    private void giveBack(Transfer run) {
        for (int index = run.completed(); index < run.count(); index++) {
            if (!run.isRemoved(index)) {
                int page = run.first() + index;
                table.setState(page, PageTable.REMOTE);
                memory.wake(page);
            }
        }
    }

    /** Installs the rest of a run that has arrived. False if some pages have to be installed later. */
    private boolean install(Transfer run) {
        while (run.completed() < run.count()) {
            int index = run.completed();
            if (run.isRemoved(index)) {
                run.complete(1);
                continue;
            }
            int until = index + 1;
            while (until < run.count() && !run.isRemoved(until)) {
                until++;
            }
            int first = run.first() + index;
            long source = staging.address(staging.frameOf(run.frame(), index));
            int installed =
                    installer.copy(first, until - index, source, run.isForWrite() || table.isPartlyRemoved(first));
            if (installed == 0) {
                return false;
            }
            run.complete(installed);
        }
        if (run.seenAt() != Transfer.PREFETCH) {
            counters.recordFault(run.first(), run.seenAt(), run.arrivedAt(), clock.getAsLong());
        }
        return true;
    }
}
