package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.data.coherence.CoherentHome;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.pool.PagePool;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this node does as a home. The coordinator lists it in one document, as of a revision, and one thread applies
 * each document in one order: it is kept, so that a coordinator can be rebuilt from it; incarnations of other nodes are
 * cut off; shard 0 serves the members of coherent spaces that are listed, and no others; access that is not listed is
 * revoked; pulls that are not listed are stopped. Then the revision is acknowledged, which attachments and detachments
 * wait for. Queue pairs that are not destroyed yet and ranges that are not zero yet are acknowledged later, each by
 * itself: no fence, release or revision waits for another one, but all wait for shard 0.
 */
public final class Hosting implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Hosting.class);
    private static final Duration REFRESH = Duration.ofSeconds(30);
    private static final Duration RETRY = Duration.ofMillis(500);
    /** After which a fence that is not carried out is logged, and logged again. */
    private static final Duration SLOW = Duration.ofSeconds(2);
    /** Bytes that are zeroed between two checks whether to stop: at 1 GB/s, 8 ms. */
    static final long SLICE = 8 << 20;

    /** Deleted spaces that are remembered. */
    static final int MOST_DELETED = 4096;

    /** Well within the drain timeout of an agent that is closed. */
    static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final Coordinator coordinator;
    private final Home home;
    private final Links links;
    private final PoolAccess access;
    private final PoolPulls pulls;
    private final CoherentHosting coherence;
    private final LongSupplier nanos;
    private final ControlThread thread;
    private final AtomicInteger asked = new AtomicInteger(1);
    private volatile boolean settled;
    /** What this node knows, for any thread. */
    private volatile Known known = new Known(Hosted.NOTHING, List.of(), List.of());

    private volatile Consumer<KeptHosting> keeper = _ -> {};

    // The rest belongs to the thread.
    private final Map<HostedAck.Fenced, CutOff> fences = new HashMap<>();
    private final Map<Long, Range> ranges = new HashMap<>();
    /** Another home may not have read yet that they are deleted. */
    private final SequencedSet<Long> deleted = new LinkedHashSet<>();

    private Hosted hosted = Hosted.NOTHING;
    private Optional<Epoch> epoch = Optional.empty();
    private Optional<HostedAck> acknowledged = Optional.empty();
    private int answered;
    private long readAt;

    /** The coordinator, as a home sees it. */
    interface Coordinator {
        Hosted hosted() throws CoordinatorException;

        void acknowledge(HostedAck ack) throws CoordinatorException;

        /** The epoch of the coordinator's last answer. */
        Optional<Epoch> epoch();
    }

    /**
     * The home.
     *
     * @param incarnation of this agent
     * @param pool as releases name it
     * @param zeroing of ranges of the pool
     * @param coherent serves coherent spaces
     */
    record Home(Incarnation incarnation, Incarnation pool, Zeroing zeroing, CoherentHome coherent) {}

    /** Zeroes a range of the pool, as {@link PagePool#zero} does. */
    interface Zeroing {
        void zero(long offset, long length);
    }

    /** The links to other nodes. */
    public interface Links {
        /** Cuts an incarnation of a peer off; completes when no WRITE of it can arrive. */
        CompletableFuture<Void> fence(String peer, Incarnation old);

        /** Allows links to an incarnation again. */
        void unfence(String peer, Incarnation old);

        /** A link to a peer is needed. */
        void want(String peer);
    }

    /**
     * What a report for a rebuild says.
     *
     * @param hosted the document that was applied last, with the fences acknowledged that were carried out
     * @param zeroed the releases that were carried out and that the coordinator may still list
     * @param deleted ids of the spaces that were deleted last and whose ranges were zeroed here
     */
    record Known(Hosted hosted, List<Release> zeroed, List<Long> deleted) {}

    private record CutOff(CompletableFuture<Void> done, long since) {
        boolean isDone() {
            return done.state() == Future.State.SUCCESS;
        }
    }

    /** A released range. */
    private static final class Range {
        private final Release release;
        private final CompletableFuture<Void> unused;
        private long zeroedTo;

        private Range(Release release, CompletableFuture<Void> unused) {
            this.release = release;
            this.unused = unused;
        }

        private boolean isUnused() {
            return unused.state() == Future.State.SUCCESS;
        }

        private boolean isZero() {
            return zeroedTo >= release.length();
        }
    }

    /** The coordinator, over its REST API. */
    record Client(CoordinatorClient client, String node) implements Coordinator {
        @Override
        public Hosted hosted() throws CoordinatorException {
            return client.hosted(node);
        }

        @Override
        public void acknowledge(HostedAck ack) throws CoordinatorException {
            client.acknowledgeHosted(node, ack);
        }

        @Override
        public Optional<Epoch> epoch() {
            return client.allegiance().status().seen().map(Seen::epoch);
        }
    }

    /**
     * @param access of other nodes to the pool, which follows what is hosted
     * @param pulls of this node to the pool, which do so, too
     * @param coherent serves coherent spaces
     */
    public Hosting(LocalNode self, Links links, PoolAccess access, PoolPulls pulls, CoherentHome coherent) {
        this(
                new Client(self.coordinator(), self.id()),
                new Home(self.incarnation(), self.poolId(), self.pool()::zero, coherent),
                links,
                access,
                pulls,
                System::nanoTime);
    }

    Hosting(Coordinator coordinator, Home home, Links links, PoolAccess access, PoolPulls pulls, LongSupplier nanos) {
        this.coordinator = coordinator;
        this.home = home;
        this.links = links;
        this.access = access;
        this.pulls = pulls;
        this.nanos = nanos;
        coherence = new CoherentHosting(home.coherent(), home.pool(), links::want);
        thread =
                new ControlThread("hosting", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::step);
    }

    public void start() {
        thread.start();
    }

    /**
     * Continues where an earlier process of this node ended, with the pool that it left.
     *
     * @param before what that process has left
     * @param keeper given what this one would leave, before it acknowledges that; must not wait
     */
    public void succeed(KeptHosting before, Consumer<KeptHosting> keeper) {
        hosted = before.hosted();
        deleted.addAll(before.deleted());
        this.keeper = keeper;
        publish();
    }

    /** What this node must do may have changed. Any thread. */
    public void refresh() {
        asked.incrementAndGet();
        thread.wake();
    }

    /** Whether the pool held pages of a space when it was listed last. Any thread. */
    public boolean mayHold(OptionalLong space) {
        return space.isEmpty()
                || known.hosted().spaces().stream()
                        .anyMatch(each -> each.space().id() == space.getAsLong());
    }

    /** What this node knows. Any thread. */
    Known known() {
        return known;
    }

    /** Reads and applies a document if one is due, and goes on with what takes longer. Returns how long to pause. */
    Duration step() throws CoordinatorException {
        settled = false;
        if (isDue()) {
            int now = asked.get();
            Hosted read = coordinator.hosted();
            if (isOlder(read)) {
                return RETRY;
            }
            apply(read);
            acknowledge();
            answered = now;
            readAt = nanos.getAsLong();
        } else if (coherence.hasFailed()) {
            var _ = noted(coherence.follow(hosted));
        }
        zero();
        acknowledge();
        return pause();
    }

    private boolean isDue() {
        return answered != asked.get() || nanos.getAsLong() - readAt >= REFRESH.toNanos();
    }

    /** An outdated answer lists what the pool no longer holds, such as a range that was released. */
    private boolean isOlder(Hosted read) {
        return read.revision() < hosted.revision() && epoch.isPresent() && epoch.equals(coordinator.epoch());
    }

    private void apply(Hosted now) {
        remember(now);
        keeper.accept(new KeptHosting(now, List.copyOf(deleted)));
        hosted = now;
        epoch = coordinator.epoch();
        acknowledged = Optional.empty();
        publish();
        fence();
        var _ = noted(coherence.follow(now));
        access.follow(now);
        pulls.follow(now);
        release();
    }

    /** The deleted spaces whose releases were carried out and are listed no longer. */
    private void remember(Hosted now) {
        Set<Long> listed = now.releases().stream().map(Release::id).collect(Collectors.toSet());
        ranges.values().stream()
                .filter(range -> range.isZero() && range.release.deleted() && !listed.contains(range.release.id()))
                .forEach(range -> deleted.addLast(range.release.space()));
        while (deleted.size() > MOST_DELETED) {
            var _ = deleted.removeFirst();
        }
    }

    private void fence() {
        Set<HostedAck.Fenced> wanted = new HashSet<>();
        for (Fence fence : hosted.fences()) {
            if (!isOfThisProcess(fence)) {
                continue;
            }
            HostedAck.Fenced peer = peer(fence);
            wanted.add(peer);
            if (!fences.containsKey(peer)) {
                log.info("cutting off incarnation {} of {}", peer.incarnation(), peer.node());
                fences.put(peer, new CutOff(noted(links.fence(peer.node(), peer.incarnation())), nanos.getAsLong()));
            }
        }
        for (HostedAck.Fenced peer : Set.copyOf(fences.keySet())) {
            if (!wanted.contains(peer)) {
                links.unfence(peer.node(), peer.incarnation());
                fences.remove(peer);
            }
        }
    }

    /** Whether this process carries a fence out. Transfers of this node to its own pool end when it detaches. */
    private boolean isOfThisProcess(Fence fence) {
        return fence.homeIncarnation().equals(home.incarnation())
                && !fence.node().equals(fence.home());
    }

    private static HostedAck.Fenced peer(Fence fence) {
        return new HostedAck.Fenced(fence.node(), fence.incarnation());
    }

    private boolean isCutOff(HostedAck.Fenced peer) {
        return coherence.isApplied()
                && Optional.ofNullable(fences.get(peer)).filter(CutOff::isDone).isPresent();
    }

    /** The thread goes on with what has waited for this. */
    private CompletableFuture<Void> noted(CompletableFuture<Void> event) {
        if (!event.isDone()) {
            var _ = event.thenRun(() -> {
                settled = true;
                thread.wake();
            });
        }
        return event;
    }

    /** A range that a fence came for is zeroed again: an incarnation may have written to it meanwhile. */
    private void release() {
        Map<Long, Release> zeroable = withFences().zeroable().stream()
                .filter(release -> release.incarnation().equals(home.pool()))
                .collect(Collectors.toMap(Release::id, each -> each));
        ranges.keySet().retainAll(zeroable.keySet());
        for (Release release : zeroable.values()) {
            if (!ranges.containsKey(release.id())) {
                access.revoke(release.offset(), release.length());
                ranges.put(release.id(), new Range(release, noted(pulls.stop(release.offset(), release.length()))));
            }
        }
    }

    /** The document, with the fences acknowledged that this process has carried out, and no others. */
    private Hosted withFences() {
        return hosted.withFences(hosted.fences().stream()
                .map(fence -> fence.withAcknowledged(isOfThisProcess(fence) && isCutOff(peer(fence))))
                .toList());
    }

    private void publish() {
        known = new Known(
                withFences(),
                ranges.values().stream()
                        .filter(Range::isZero)
                        .map(range -> range.release)
                        .toList(),
                List.copyOf(deleted));
    }

    /** Zeroes released ranges, until there is something else to do. */
    private void zero() {
        release();
        for (Range range : List.copyOf(ranges.values())) {
            while (coherence.isApplied() && range.isUnused() && !range.isZero() && !thread.isStopping()) {
                long at = range.release.offset() + range.zeroedTo;
                home.zeroing().zero(at, Math.min(SLICE, range.release.length() - range.zeroedTo));
                range.zeroedTo += SLICE;
                if (isDue() || settled) {
                    return;
                }
            }
        }
    }

    private void acknowledge() throws CoordinatorException {
        publish();
        if (!coherence.isApplied()) {
            return; // A member that is listed no longer may still be served.
        }
        List<HostedAck.Fenced> fenced = hosted.fences().stream()
                .filter(fence -> !fence.acknowledged() && isOfThisProcess(fence))
                .map(Hosting::peer)
                .distinct()
                .filter(this::isCutOff)
                .toList();
        List<Long> zeroed = known.zeroed().stream()
                .map(Release::id)
                .limit(HostedAck.MAX_ZEROED)
                .toList();
        HostedAck ack = new HostedAck(home.incarnation(), hosted.revision(), fenced, zeroed);
        if (!acknowledged.equals(Optional.of(ack))) {
            coordinator.acknowledge(ack);
            if (!zeroed.isEmpty()) {
                log.info("zeroed {} released ranges", zeroed.size());
            }
            acknowledged = Optional.of(ack);
        }
    }

    private Duration pause() {
        long now = nanos.getAsLong();
        fences.forEach((peer, cut) -> {
            if (!cut.isDone() && now - cut.since() >= SLOW.toNanos()) {
                log.warn(
                        "incarnation {} of {} is not cut off after {}; its queue pairs are not destroyed yet",
                        peer.incarnation(),
                        peer.node(),
                        Duration.ofNanos(now - cut.since()));
            }
        });
        if (isDue() || settled) {
            return Duration.ZERO;
        }
        if (!coherence.isApplied()) {
            return RETRY;
        }
        boolean waits = fences.values().stream().anyMatch(cut -> !cut.isDone());
        return waits ? SLOW : Duration.ofNanos(REFRESH.toNanos() - (now - readAt));
    }

    /** Stops, after the slice that is being zeroed now. */
    @Override
    public void close() {
        thread.close();
    }
}
