package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.coherence.CoherentMember;
import io.farpage.agent.data.coherence.CoherentMembers;
import io.farpage.agent.data.coherence.KeptMember;
import io.farpage.agent.data.coherence.MemberGuest;
import io.farpage.agent.data.coherence.MemberId;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.PageMap;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The guest of a coherent space: one member on shard 0, for the one userfaultfd that the VMM handed over. It is neither
 * parked nor frozen, and its homes know which pages they have, so no presence map is left.
 */
final class MemberPaging implements Paging {
    private static final Logger log = LoggerFactory.getLogger(MemberPaging.class);

    private final String name;
    private final VmmMemory memory;
    private final Optional<KeptGuest> kept;
    private final Backing backing;
    private final PagerHosts hosts;
    private final PagerHost host;
    private final CoherentMember member;
    private final SlicePager.Latencies latencies;
    private final CompletableFuture<PagerEnd> ended = new CompletableFuture<>();
    /** Faults at the last sample. */
    private final AtomicLong sampledFaults = new AtomicLong();

    /** Completed when no successor needs the guest. */
    private final CompletableFuture<@Nullable Void> forgotten = new CompletableFuture<>();

    private boolean isPinned;

    /**
     * What a member's memory holds.
     *
     * @param id by which the homes know the member
     * @param map the latest map of the space
     * @param memory one slice with a memory file; its descriptors are closed by {@link #close}
     * @param kept what outlives this process; empty if nothing does
     */
    record Contents(MemberId id, Supplier<SpaceMap> map, VmmMemory memory, Optional<KeptGuest> kept) {}

    /**
     * Makes the member, which serves nothing before {@link #start}.
     *
     * @throws HandoffException if the limit is too low, or shard 0 is full; the descriptors are the caller's whenever
     *     this throws, and nothing uses them
     */
    MemberPaging(Contents contents, PagerOptions options, CoherentMembers members, PagerHosts hosts)
            throws HandoffException {
        memory = contents.memory();
        kept = contents.kept();
        this.hosts = hosts;
        backing = Objects.requireNonNull(memory.backing());
        SpaceMap now = contents.map().get();
        name = now.name();
        if (options.localPages() < LocalShares.minLimit(1)) {
            throw new HandoffException("a limit of %d resident pages is too low; give %d pages or more"
                    .formatted(options.localPages(), LocalShares.minLimit(1)));
        }
        Footprint.requireTables(memory.slices(), false, Footprint.availableMemory());
        host = hosts.reserveFirst()
                .orElseThrow(() -> new HandoffException(
                        "shard 0, which serves coherent spaces, has all the guests that it may have, %d; end a guest"
                                .formatted(PagerHosts.MAX)));
        boolean done = false;
        try {
            member = members.make(
                    new MemberGuest(
                            contents.id(),
                            now.id(),
                            name,
                            (int) now.pages(),
                            memory.uffds().getFirst(),
                            backing.file(),
                            memory.slices().getFirst().regions(),
                            backing.pins(),
                            kept.flatMap(KeptGuest::member).orElseGet(() -> KeptMember.inMemory((int) now.pages()))),
                    contents.map(),
                    options,
                    ended::complete);
            done = true;
        } finally {
            if (!done) {
                hosts.release(host);
            }
        }
        latencies = SlicePager.Latencies.of(member.counters());
        backing.pins().onInspected(host::wake);
    }

    @Override
    public int pid() {
        return memory.pid();
    }

    @Override
    public void start() {
        host.add(member);
    }

    @Override
    public boolean isKept() {
        return kept.filter(guest -> !guest.isReleased()).isPresent();
    }

    @Override
    public boolean isEvictable() {
        return true;
    }

    @Override
    public PagerEnd await(Duration time) throws InterruptedException, TimeoutException {
        try {
            return ended.get(time.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    @Override
    public Optional<PresenceMap> presence() {
        return Optional.empty();
    }

    /** Also ends the member if something may write to its memory past write protection: it would not be seen. */
    @Override
    public void probe() {
        kept.ifPresent(KeptGuest::check);
        host.probe(member::probe);
        var _ = backing.pins().inspect();
        Optional<String> pinned = backing.pins().pinned();
        if (!isPinned && pinned.isPresent()) {
            isPinned = true;
            String reason = pinned.get() + "; memory that may be pinned cannot be that of a coherent space";
            log.error("space {}: the guest of process {} is ended: {}", name, pid(), reason);
            host.run(() -> member.fail(reason));
        }
    }

    @Override
    public boolean isCutOff() throws InterruptedException {
        CompletableFuture<Boolean> answer = new CompletableFuture<>();
        host.run(() -> answer.complete(member.isCutOff()));
        try {
            return answer.get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            return false;
        }
    }

    @Override
    public boolean hasEnded() {
        return ended.isDone();
    }

    @Override
    public void resize(int localPages) {
        if (localPages < LocalShares.minLimit(1)) {
            throw new IllegalArgumentException("a limit of %d resident pages is too low; give %d pages or more"
                    .formatted(localPages, LocalShares.minLimit(1)));
        }
        member.resize(localPages);
        host.wake();
        kept.ifPresent(one -> one.limit(localPages));
    }

    @Override
    public long leastParkedPages() {
        return 0;
    }

    @Override
    public void park(int keepPages) {
        throw new UnsupportedOperationException("the guest of a coherent space is not parked");
    }

    @Override
    public void unpark() {}

    @Override
    public Optional<Parked> parked() {
        return Optional.empty();
    }

    @Override
    public boolean unparkIfWoken() {
        return false;
    }

    @Override
    public Optional<Duration> processorTime() {
        return VmmProcess.processorTime(pid());
    }

    @Override
    public long faults() {
        return member.counters().faults();
    }

    /** None: extents of a coherent space do not move. */
    @Override
    public HeatReport heat() {
        return new HeatReport(List.of());
    }

    @Override
    public GuestSample.Faults recentFaults() {
        long total = faults();
        return PagingStatus.recentFaults(total - sampledFaults.getAndSet(total), List.of(latencies));
    }

    @Override
    public List<CopyReport.Copy> copies(long space) {
        return List.of();
    }

    @Override
    public PageMap map() {
        PageCensus census = new PageCensus(member.status().pages());
        member.count(census);
        return PagingStatus.map(census);
    }

    @Override
    public PinStatus pins() {
        return backing.pins().status();
    }

    @Override
    public PagerStatus where() {
        return member.status();
    }

    @Override
    public PagingStatus status() {
        PagerStatus where = member.status();
        Slice slice = memory.slices().getFirst();
        return PagingStatus.of(
                where,
                member.counters(),
                latencies,
                new GuestStatus.Part(
                        host.number(),
                        slice.firstPage(),
                        slice.pages(),
                        where.residentPages(),
                        where.localLimitPages(),
                        member.counters().faults()));
    }

    @Override
    public GuestLatencies latencies(String space) {
        return PagingStatus.allLatencies(space, List.of(latencies));
    }

    @Override
    public List<LatencySeries> series(String space) {
        return latencies.series(space).toList();
    }

    @Override
    public List<TracedPager> traced(String space) {
        return List.of(new TracedPager(space, 0, member.counters()));
    }

    /** Waits a while until shard 0 uses the member no more; if it takes longer, the end alone is delayed. */
    @Override
    public void close() {
        CompletableFuture<Void> closed =
                host.removeCycle(member).thenRunAsync(this::closeRemoved, Thread::startVirtualThread);
        try {
            closed.get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            log.warn(
                    "shard 0 did not answer within {}; the memory of process {} is closed when it does",
                    PagerHost.TIMEOUT,
                    pid());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeRemoved() {
        hosts.release(host);
        member.close();
        if (kept.isPresent() && hasEnded() && ended.join().saved()) {
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
        memory.close();
    }
}
