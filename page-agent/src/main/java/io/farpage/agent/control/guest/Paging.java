package io.farpage.agent.control.guest;

import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.data.pager.Heat;
import io.farpage.agent.data.pager.PageTableException;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.Pins;
import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.agent.data.pager.WorkingSet;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.linux.uffd.Userfaultfd;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pagers of one guest: one for each userfaultfd that the VMM handed over, on the shards with the fewest. Each has its slice of the space and
 * shares only the limit with the others, which moves between them. Used by the guest's thread, except for
 * {@link #resize} and {@link #status}.
 */
final class Paging {
    private static final Logger log = LoggerFactory.getLogger(Paging.class);
    /** Ranges of one report: of several pagers' the hottest. */
    private static final int MAX_HEAT_RANGES = 2 * Heat.MAX_BLOCKS;

    private final List<SlicePager> pagers = new ArrayList<>();
    private final PagerHosts hosts;
    private final @Nullable Backing backing;

    /** Guarded by itself. */
    private final LocalShares shares;

    private volatile int cap;
    private volatile long ceiling;

    /**
     * The memory of a guest.
     *
     * @param space its name
     * @param map the latest map of the space
     * @param pageBytes bytes of a page
     * @param written whether the pages may hold data at their homes
     * @param workingSet pages to prefetch
     */
    record Memory(String space, Supplier<SpaceMap> map, int pageBytes, boolean written, WorkingSet workingSet) {}

    /**
     * Starts to serve.
     *
     * @param uffds one for each slice; closed by {@link #close}, as is the backing
     * @param backing the memory file; without it nothing can be evicted
     * @throws HandoffException if there are too many pagers for the limit, or for the shards; the descriptors are then the caller's
     */
    Paging(
            Memory memory,
            List<Slice> slices,
            List<Userfaultfd> uffds,
            @Nullable Backing backing,
            PagerOptions options,
            PagerHosts hosts)
            throws HandoffException {
        this.hosts = hosts;
        this.backing = backing;
        long least = LocalShares.least(slices.size());
        if (options.localPages() < least) {
            throw new HandoffException(
                    "%d userfaultfds need a limit of %d pages or more, and it is %d; raise it, or send fewer"
                            .formatted(slices.size(), least, options.localPages()));
        }
        Footprint.requireTables(slices, Footprint.availableMemory());
        shares = new LocalShares(
                options.localPages(), slices.stream().mapToInt(Slice::pages).toArray());
        cap = shares.cap();
        ceiling = shares.ceiling();
        try {
            for (int i = 0; i < slices.size(); i++) {
                PagerOptions own = new PagerOptions(
                        shares.limit(i), options.prefetchPages(), options.cyclePages(), options.flushDeadline());
                pagers.add(start(memory, slices.get(i), slices.size() > 1, uffds.get(i), own));
            }
            if (backing != null) {
                backing.pins().onInspected(this::wake);
            }
        } catch (RuntimeException | HandoffException e) {
            retire();
            throw e;
        }
    }

    private SlicePager start(Memory memory, Slice slice, boolean isPart, Userfaultfd uffd, PagerOptions options)
            throws HandoffException {
        PagerHost host = hosts.take().orElseThrow(() -> new HandoffException(hosts.fullness()));
        CompletableFuture<PagerEnd> ended = new CompletableFuture<>();
        try {
            Pager pager = host.serve(
                    new Pager.Guest(
                            isPart ? memory.space() + ", counted from page " + slice.firstPage() : memory.space(),
                            uffd,
                            backing == null ? null : backing.file().from(slice.base()),
                            slice.regions(),
                            memory.pageBytes(),
                            memory.written(),
                            memory.workingSet().slice(slice.firstPage(), slice.pages()),
                            backing == null ? Pins.NONE : backing.pins()),
                    isPart ? new SliceMap(memory.map(), slice) : memory.map(),
                    options,
                    ended);
            return SlicePager.of(slice, pager, host, uffd, ended);
        } catch (PageTableException e) {
            hosts.giveBack(host);
            throw new HandoffException(String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            hosts.giveBack(host);
            throw e;
        }
    }

    /** The part of a map that is of a slice; another one when the whole is another. For one thread. */
    private static final class SliceMap implements Supplier<SpaceMap> {
        private final Supplier<SpaceMap> wholes;
        private final Slice slice;
        private @Nullable SpaceMap whole;
        private @Nullable SpaceMap part;

        SliceMap(Supplier<SpaceMap> wholes, Slice slice) {
            this.wholes = wholes;
            this.slice = slice;
        }

        @Override
        public SpaceMap get() {
            SpaceMap latest = wholes.get();
            SpaceMap known = part;
            if (known == null || latest != whole) {
                known = latest.slice(slice.firstPage(), slice.pages());
                whole = latest;
                part = known;
            }
            return known;
        }
    }

    /** Number of pagers. */
    int size() {
        return pagers.size();
    }

    /**
     * Waits for all pagers to end.
     *
     * @throws TimeoutException if they have not by then
     */
    PagerEnd await(Duration time) throws InterruptedException, TimeoutException {
        CompletableFuture<?>[] all = pagers.stream().map(SlicePager::ended).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(all).get(time.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
        return end();
    }

    /** Whether all pagers have ended by themselves and have no transfer under way. */
    boolean hasEnded() {
        return pagers.stream().allMatch(one -> one.ended().isDone());
    }

    private PagerEnd end() {
        WorkingSet left = WorkingSet.EMPTY;
        for (SlicePager one : pagers) {
            left = left.with(one.ended().join().workingSet(), one.slice().firstPage());
        }
        return new PagerEnd(
                pagers.stream()
                        .map(one -> one.ended().join().reason())
                        .distinct()
                        .collect(Collectors.joining("; ")),
                pagers.stream().allMatch(one -> one.ended().join().saved()),
                left);
    }

    /** Has all pagers probe their VMM's address space, and moves limits to pagers that fault. */
    void probe() throws InterruptedException {
        synchronized (shares) {
            if (pagers.size() == 1 || shares.isUnlimited()) {
                pagers.forEach(one -> one.host().probe(one.pager()));
                return;
            }
            try {
                share();
            } catch (TimeoutException e) {
                log.warn("a shard did not answer within {}; limits stay as they are for now", PagerHost.TIMEOUT);
            }
        }
    }

    /** Whether no pager can reach a home any more or has a transfer under way. */
    boolean isCutOff() throws InterruptedException {
        for (SlicePager one : pagers) {
            try {
                if (!one.host().isCutOff(one.pager()).get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                    return false;
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            } catch (TimeoutException e) {
                return false;
            }
        }
        return true;
    }

    private void share() throws InterruptedException, TimeoutException {
        long[] faults = pagers.stream().mapToLong(SlicePager::faultsOfRoom).toArray();
        long[] held = tellLimits();
        if (shares.take(held, faults)) {
            held = tellLimits();
        }
        shares.grant(held);
        ceiling = shares.ceiling();
        apply();
    }

    /** Sets the limit of every pager, and waits until each has applied it. */
    private long[] tellLimits() throws InterruptedException, TimeoutException {
        List<CompletableFuture<Long>> answers = new ArrayList<>();
        for (int i = 0; i < pagers.size(); i++) {
            answers.add(pagers.get(i).host().limit(pagers.get(i).pager(), shares.limit(i)));
        }
        long[] held = new long[answers.size()];
        for (int i = 0; i < held.length; i++) {
            try {
                held[i] = answers.get(i).get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
        return held;
    }

    private void apply() {
        for (int i = 0; i < pagers.size(); i++) {
            pagers.get(i).pager().resize(shares.limit(i));
            pagers.get(i).host().wake();
        }
    }

    /**
     * Changes how many pages may be resident.
     *
     * @throws IllegalArgumentException if that is too few for so many pagers
     */
    void resize(int localPages) {
        long least = LocalShares.least(pagers.size());
        if (localPages < least) {
            throw new IllegalArgumentException(
                    "a limit of %d resident pages is too low; the least is %d pages for %d pagers"
                            .formatted(localPages, least, pagers.size()));
        }
        synchronized (shares) {
            shares.resize(localPages);
            cap = localPages;
            apply();
        }
    }

    /** Faults by range of pages. */
    HeatReport heat() {
        List<HeatReport.Range> ranges =
                pagers.stream().flatMap(SlicePager::heat).toList();
        if (ranges.size() > MAX_HEAT_RANGES) {
            ranges = ranges.stream()
                    .sorted(Comparator.comparingLong(HeatReport.Range::heat).reversed())
                    .limit(MAX_HEAT_RANGES)
                    .sorted(Comparator.comparingLong(HeatReport.Range::firstPage))
                    .toList();
        }
        return new HeatReport(ranges);
    }

    /** The status of pins on the memory. */
    PinStatus pins() {
        return backing == null ? PinStatus.NONE : backing.status();
    }

    /** The status of all pagers together. */
    PagingStatus status() {
        return PagingStatus.of(pagers, cap, ceiling);
    }

    /** Removes the pagers from their shards and closes the VMM's descriptors. */
    void close() {
        retire();
        pagers.forEach(one -> one.pager().close());
        pagers.forEach(one -> one.uffd().close());
        if (backing != null) {
            backing.close();
        }
    }

    /** An inspection has ended for which a pager may wait. */
    private void wake() {
        pagers.forEach(one -> one.host().wake());
    }

    private void retire() {
        for (SlicePager one : pagers) {
            one.host().retire(one.pager());
            hosts.giveBack(one.host());
        }
    }
}
