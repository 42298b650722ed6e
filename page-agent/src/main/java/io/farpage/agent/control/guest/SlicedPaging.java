package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.Heat;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PageTableException;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.PageMap;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pagers of one guest: one for each userfaultfd that the VMM handed over, on the shards with the fewest. Each has
 * its slice of the space. They share one limit, which moves between them.
 */
final class SlicedPaging implements Paging {
    private static final Logger log = LoggerFactory.getLogger(SlicedPaging.class);
    /** Ranges of one report: of several pagers' the hottest. */
    private static final int MAX_HEAT_RANGES = 2 * Heat.MAX_BLOCKS;

    private final List<SlicePager> pagers = new ArrayList<>();
    private final PagerParking parking;
    private final PagerRoom room = new PagerRoom(pagers);
    private final PagerFreezing freezing = new PagerFreezing(pagers, this::described);
    private final PagerHosts hosts;
    private final VmmMemory memory;
    private final Optional<KeptGuest> kept;
    private final boolean isFilledByVmm;
    private final VmmPages sizes;
    private final int pages;
    /** What the homes have, if the guest's memory is only a part of the space. */
    private final Optional<PresenceMap> outside;

    /**
     * Completes with the last pager. The only one of its kind, since each would stay with the pagers for as long as
     * they run.
     */
    private final CompletableFuture<Void> ended;

    /** Guarded by itself. */
    private final LocalShares shares;

    /** Faults of all pagers at the last sample. */
    private final AtomicLong sampledFaults = new AtomicLong();

    /** Completed when no successor needs the guest. */
    private final CompletableFuture<@Nullable Void> forgotten = new CompletableFuture<>();

    private volatile int cap;
    private volatile long ceiling;

    /**
     * What a guest's memory holds.
     *
     * @param space its name
     * @param map the latest map of the space
     * @param pageBytes bytes of a page of the VMM
     * @param written whether the pages may hold data at their homes
     * @param presence which pages the homes have, and which of them to prefetch, in pages of the space
     * @param sealed what seals the pages; empty if the homes may read them
     * @param kept what outlives this process; empty if nothing does
     */
    record Contents(
            String space,
            Supplier<SpaceMap> map,
            int pageBytes,
            boolean written,
            PresenceMap presence,
            Optional<SealedSpace> sealed,
            Optional<KeptGuest> kept) {}

    /**
     * Makes the pagers. None of them serves anything before {@link #start}.
     *
     * @param memory its descriptors are closed by {@link #close}
     * @throws HandoffException if there are too many pagers for the limit, or for the shards; the descriptors are the
     *     caller's whenever this throws, and nothing uses them
     */
    SlicedPaging(Contents contents, VmmMemory memory, PagerOptions options, PagerHosts hosts) throws HandoffException {
        this.hosts = hosts;
        this.memory = memory;
        kept = contents.kept();
        parking = new PagerParking(pagers, kept);
        List<Slice> slices = memory.slices();
        sizes = new VmmPages(contents.pageBytes(), contents.map().get().pageSize(), contents.presence());
        pages = sizes.presence().pages();
        outside = Optional.of(sizes.presence())
                .filter(_ -> slices.stream().mapToInt(Slice::pages).sum() < pages);
        isFilledByVmm = memory.backing() != null && RamMappings.areFilledByVmm(memory.pid(), slices);
        long min = LocalShares.minLimit(slices.size());
        if (options.localPages() < min) {
            throw new HandoffException(
                    "%d userfaultfds need a limit of %d pages or more, and it is %d; raise it, or send fewer"
                            .formatted(slices.size(), min, options.localPages()));
        }
        Footprint.requireTables(slices, contents.sealed().isPresent(), Footprint.availableMemory());
        shares = new LocalShares(
                options.localPages(), slices.stream().mapToInt(Slice::pages).toArray());
        cap = shares.cap();
        ceiling = shares.ceiling();
        Drops.Writers writers = hosts.writers();
        try {
            for (int i = 0; i < slices.size(); i++) {
                PagerOptions own = new PagerOptions(
                        shares.limit(i), options.prefetchPages(), options.cyclePages(), options.flushDeadline());
                pagers.add(make(contents, i, own, writers));
            }
            Backing backing = memory.backing();
            if (backing != null) {
                backing.pins().onInspected(this::wake);
            }
            ended = CompletableFuture.allOf(
                    pagers.stream().map(SlicePager::ended).toArray(CompletableFuture<?>[]::new));
            parking.adopt();
        } catch (RuntimeException | HandoffException | OutOfMemoryError e) {
            for (SlicePager one : pagers) {
                one.host().discard(one.pager());
                hosts.release(one.host());
                one.pager().close();
            }
            throw e;
        }
    }

    @Override
    public void start() {
        pagers.forEach(one -> one.host().start(one.pager()));
    }

    private SlicePager make(Contents contents, int index, PagerOptions options, Drops.Writers writers)
            throws HandoffException {
        Slice slice = memory.slices().get(index);
        Backing backing = memory.backing();
        boolean isPart = memory.slices().size() > 1;
        PagerHost host = hosts.reserve().orElseThrow(() -> new HandoffException(hosts.fullness()));
        CompletableFuture<PagerEnd> ended = new CompletableFuture<>();
        PageSeal seal = contents.sealed()
                .map(space -> space.part(slice.firstPage(), slice.pages()))
                .orElse(null);
        boolean done = false;
        try {
            Pager pager = host.make(
                    new PagedGuest(
                            isPart ? contents.space() + ", counted from page " + slice.firstPage() : contents.space(),
                            memory.uffds().get(index),
                            backing == null ? null : backing.file().from(slice.base()),
                            slice.regions(),
                            contents.pageBytes(),
                            contents.written(),
                            sizes.presence().slice(slice.firstPage(), slice.pages()),
                            backing == null ? Pins.NONE : backing.pins(),
                            seal,
                            kept.map(one -> one.table(index)).orElse(null),
                            isFilledByVmm),
                    new SliceMap(contents.map(), sizes, slice),
                    options,
                    writers,
                    ended);
            done = true;
            return new SlicePager(slice, pager, host, SlicePager.Latencies.of(pager.counters()), ended);
        } catch (PageTableException e) {
            throw new HandoffException(String.valueOf(e.getMessage()));
        } finally {
            if (!done) {
                hosts.release(host);
                if (seal != null) {
                    seal.close();
                }
            }
        }
    }

    /** The part of a space's map that covers a slice. It is made anew when the map changes. For one thread. */
    private static final class SliceMap implements Supplier<SpaceMap> {
        private final Supplier<SpaceMap> wholes;
        private final VmmPages sizes;
        private final Slice slice;
        private @Nullable SpaceMap whole;
        private @Nullable SpaceMap part;

        SliceMap(Supplier<SpaceMap> wholes, VmmPages sizes, Slice slice) {
            this.wholes = wholes;
            this.sizes = sizes;
            this.slice = slice;
        }

        @Override
        public SpaceMap get() {
            SpaceMap latest = wholes.get();
            SpaceMap known = part;
            if (known == null || latest != whole) {
                known = sizes.map(latest).slice(slice.firstPage(), slice.pages());
                whole = latest;
                part = known;
            }
            return known;
        }
    }

    @Override
    public int pid() {
        return memory.pid();
    }

    @Override
    public boolean isKept() {
        return kept.filter(guest -> !guest.isReleased()).isPresent();
    }

    @Override
    public boolean isEvictable() {
        return memory.backing() != null;
    }

    @Override
    public PagerEnd await(Duration time) throws InterruptedException, TimeoutException {
        try {
            ended.get(time.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
        return end();
    }

    /** What waits for the ends of pagers. */
    int waiting() {
        return pagers.stream()
                .mapToInt(one -> one.ended().getNumberOfDependents())
                .sum();
    }

    @Override
    public boolean hasEnded() {
        return pagers.stream().allMatch(one -> one.ended().isDone());
    }

    private PagerEnd end() {
        return new PagerEnd(
                pagers.stream()
                        .map(one -> one.ended().join().reason())
                        .distinct()
                        .collect(Collectors.joining("; ")),
                pagers.stream().allMatch(one -> one.ended().join().saved()));
    }

    @Override
    public Optional<PresenceMap> presence() {
        PresenceMap map = described();
        pagers.forEach(one -> one.pager().describe(map, one.slice().firstPage()));
        return Optional.of(sizes.ofSpace(map));
    }

    /** What the homes have beside the guest's memory. */
    private PresenceMap described() {
        return outside.map(PresenceMap::copy).orElseGet(() -> PresenceMap.zeros(pages));
    }

    @Override
    public Optional<PagerFreezing> freezing() {
        return Optional.of(freezing);
    }

    /** Also moves limits to pagers that fault, and memory to those that lack it. */
    @Override
    public void probe() throws InterruptedException {
        kept.ifPresent(KeptGuest::check);
        if (pagers.stream().anyMatch(one -> one.pager().isShortOfMemory())) {
            pagers.stream()
                    .filter(one -> !one.pager().isShortOfMemory())
                    .max(Comparator.comparingLong(one -> one.pager().status().residentPages()))
                    .ifPresent(one -> one.host().giveMemory(one.pager()));
        }
        synchronized (shares) {
            if (pagers.size() == 1 || shares.isUnlimited()) {
                pagers.forEach(one -> one.host().probe(one.pager()::probe));
                return;
            }
            try {
                share();
            } catch (TimeoutException e) {
                log.warn("a shard did not answer within {}; limits stay as they are for now", PagerHost.TIMEOUT);
            }
        }
    }

    @Override
    public boolean isCutOff() throws InterruptedException {
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
        long[] faults =
                pagers.stream().mapToLong(SlicePager::faultsThatTookFrames).toArray();
        long[] held = applyLimits();
        if (shares.reclaim(held, faults)) {
            held = applyLimits();
        }
        shares.grant(held);
        ceiling = shares.ceiling();
        announceLimits();
    }

    /** Sets the limit of every pager, and waits until each has applied it. */
    private long[] applyLimits() throws InterruptedException, TimeoutException {
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

    /** Sets the limit of every pager, without waiting. */
    private void announceLimits() {
        for (int i = 0; i < pagers.size(); i++) {
            pagers.get(i).pager().resize(shares.limit(i));
            pagers.get(i).host().wake();
        }
    }

    @Override
    public void resize(int localPages) {
        long min = LocalShares.minLimit(pagers.size());
        if (localPages < min) {
            throw new IllegalArgumentException(
                    "a limit of %d resident pages is too low; give %d pages or more for %d pagers"
                            .formatted(localPages, min, pagers.size()));
        }
        synchronized (shares) {
            shares.resize(localPages);
            cap = localPages;
            announceLimits();
        }
        kept.ifPresent(one -> one.limit(localPages));
    }

    @Override
    public long leastParkedPages() {
        return parking.leastPages();
    }

    @Override
    public void park(int keepPages) throws TimeoutException {
        parking.park(keepPages, where().residentPages());
    }

    @Override
    public void unpark() {
        parking.unpark();
    }

    @Override
    public Optional<Parked> parked() {
        return parking.parked();
    }

    @Override
    public boolean unparkIfWoken() {
        return parking.unparkIfWoken();
    }

    @Override
    public void giveRoomBack(SpaceUse use) throws InterruptedException {
        try {
            if (isEvictable()) {
                room.giveBack(use);
            }
        } catch (TimeoutException e) {
            log.warn("a shard did not answer within {}; room is given back later", PagerHost.TIMEOUT);
        }
    }

    @Override
    public Optional<Duration> processorTime() {
        return VmmProcess.processorTime(pid());
    }

    @Override
    public long faults() {
        return pagers.stream().mapToLong(one -> one.pager().counters().faults()).sum();
    }

    @Override
    public HeatReport heat() {
        List<HeatReport.Range> ranges =
                pagers.stream().flatMap(SlicePager::heat).map(sizes::ofSpace).toList();
        if (ranges.size() > MAX_HEAT_RANGES) {
            ranges = ranges.stream()
                    .sorted(Comparator.comparingLong(HeatReport.Range::heat).reversed())
                    .limit(MAX_HEAT_RANGES)
                    .sorted(Comparator.comparingLong(HeatReport.Range::firstPage))
                    .toList();
        }
        return new HeatReport(ranges);
    }

    @Override
    public List<CopyReport.Copy> copies(long space) {
        Map<ExtentEpoch, Long> left = pagers.stream()
                .flatMap(one -> one.pager().copies().stream())
                .collect(Collectors.groupingBy(
                        copy -> new ExtentEpoch(copy.firstPage(), copy.epoch()),
                        Collectors.summingLong(copy -> copy.left().get())));
        int pageSize = pagers.getFirst().pager().status().pageSize();
        return left.entrySet().stream()
                .map(each -> new CopyReport.Copy(space, each.getKey(), each.getValue() * pageSize))
                .toList();
    }

    @Override
    public GuestSample.Faults recentFaults() {
        long total = faults();
        long before = sampledFaults.getAndSet(total);
        return PagingStatus.recent(total - before, pagers);
    }

    @Override
    public PageMap map() {
        PageCensus census = new PageCensus(
                pagers.stream().mapToLong(one -> one.slice().pages()).sum());
        pagers.forEach(one -> one.count(census));
        return PagingStatus.map(census);
    }

    @Override
    public PinStatus pins() {
        Backing backing = memory.backing();
        return backing == null ? PinStatus.NONE : backing.pins().status();
    }

    @Override
    public PagerStatus where() {
        return PagingStatus.where(pagers, cap, ceiling);
    }

    @Override
    public PagingStatus status() {
        return PagingStatus.of(pagers, cap, ceiling);
    }

    @Override
    public GuestLatencies latencies(String space) {
        return PagingStatus.latencies(space, pagers);
    }

    @Override
    public List<TracedPager> traced(String space) {
        return pagers.stream()
                .map(one -> new TracedPager(
                        space, one.slice().firstPage(), one.pager().counters()))
                .toList();
    }

    @Override
    public List<LatencySeries> series(String space) {
        return pagers.stream().flatMap(one -> one.latencies().series(space)).toList();
    }

    /**
     * Closes what the pagers use once the shards use it no more. Waits for that for a while; a shard that answers later
     * delays the end alone.
     */
    @Override
    public void close() {
        CompletableFuture<Void> closed = CompletableFuture.allOf(pagers.stream()
                        .map(one -> one.host().remove(one.pager()))
                        .toArray(CompletableFuture<?>[]::new))
                .thenRunAsync(this::closeRemoved, Thread::startVirtualThread);
        try {
            closed.get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            log.warn(
                    "a shard did not answer within {}; the memory of process {} is closed when it does",
                    PagerHost.TIMEOUT,
                    memory.pid());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeRemoved() {
        pagers.forEach(one -> hosts.release(one.host()));
        if (kept.isPresent() && hasEnded() && end().saved()) {
            var _ = forgotten.thenRun(this::release);
        } else {
            release();
        }
    }

    @Override
    public void forget() {
        forgotten.complete(null);
    }

    private void release() {
        kept.ifPresent(KeptGuest::release);
        pagers.forEach(one -> one.pager().close());
        memory.close();
    }

    /** Wakes the pagers, since one may wait for the inspection that has ended. */
    private void wake() {
        pagers.forEach(one -> one.host().wake());
    }
}
