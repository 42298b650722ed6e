package io.farpage.agent.control.pull;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.member.PoolPulls;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.KeyUse;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pulls of this node. They follow what the coordinator lists; when one is done, this node says so, in the epoch of
 * the pull. If no node is attached to the space, its pool is promoted by that, which is refused if one has attached
 * meanwhile; otherwise the attached node copies what it has written meanwhile. The extent of a clone that has no home
 * is filled from the homes of its snapshot, which this node reads as any other that has attached it; or from its own
 * pool. A pull that gets no page for ten seconds is given up. Thread-safe.
 */
public final class Pulls implements PoolPulls, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Pulls.class);
    private static final Duration CHECK = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final int CHUNK = 128 << 10;
    /** At which extents of clones are filled: a guest may wait for them, while other transfers go first. */
    private static final long FILL_BYTES_PER_SECOND = 4L << 30;

    private static final int CONFLICT = 409;

    private final LocalNode self;
    private final ShardLoop shard;
    private final Function<String, PeerLink> links;
    private final Snapshots snapshots;
    private final Fetcher fetcher;
    private final PullCycle cycle;
    private final Fetcher fillFetcher;
    private final PullCycle fillCycle;
    private final int chunk;
    private final int fillChunk;
    private final long patienceNanos;
    private final ControlThread thread;
    private final Map<Pull.Key, Running> running = new HashMap<>();
    /** Ended, and perhaps still listed by an answer that is on its way. */
    private final Set<Pull.Key> ended = new HashSet<>();
    /** Those that have to wait until the snapshot is attached. */
    private final Map<Pull.Key, Fill> fills = new HashMap<>();

    /**
     * @param snapshot the use of the one that is read; empty if the pages are pulled from homes of the extent
     * @param failure why the pull is given up, which must still be reported to the coordinator
     */
    private record Running(Pull pull, Optional<SpaceUse> snapshot, Optional<String> failure) {}

    /**
     * An extent of a clone without homes.
     *
     * @param snapshot id of the space that its pages are in
     * @param since when it was listed
     */
    private record Fill(Pull.Target target, long snapshot, long since) {}

    /** The snapshots that clones are made of. */
    @FunctionalInterface
    public interface Snapshots {
        /** Begins to read one; empty if there is none with this id. */
        Optional<SpaceUse> use(long id) throws CoordinatorException;
    }

    /**
     * How this node pulls.
     *
     * @param bytesPerSecond at most, of all pulls together, but for those that fill an extent of a clone
     * @param deadline of one transfer
     * @param patience with a pull that gets no page, or a snapshot that cannot be attached
     */
    public record Options(long bytesPerSecond, Duration deadline, Duration patience) {
        private static final Duration PATIENCE = Duration.ofSeconds(10);

        /** With the patience of an agent. */
        public Options(long bytesPerSecond, Duration deadline) {
            this(bytesPerSecond, deadline, PATIENCE);
        }
    }

    /**
     * Adds itself to a shard that has not started yet.
     *
     * @param links the shard's side of the link to a node
     * @param snapshots with which extents of clones are filled
     */
    public Pulls(
            LocalNode self, ShardLoop shard, Function<String, PeerLink> links, Snapshots snapshots, Options options) {
        this.self = self;
        this.shard = shard;
        this.links = links;
        this.snapshots = snapshots;
        fetcher = shard.shard().newFetcher(PullCycle.RUNS, options.deadline().toNanos(), KeyUse.PULL);
        fillFetcher =
                shard.shard().newFetcher(PullCycle.RUNS, options.deadline().toNanos(), KeyUse.ATTACHMENT);
        thread = new ControlThread(
                "pulls", new ControlThread.Pauses(ControlThread.UNTIL_WOKEN, CHECK, CLOSE_TIMEOUT), this::step);
        cycle = new PullCycle(fetcher, self.pool(), options.bytesPerSecond(), System::nanoTime, thread::wake);
        fillCycle = new PullCycle(fillFetcher, self.pool(), FILL_BYTES_PER_SECOND, System::nanoTime, thread::wake);
        shard.submit(new ShardCommand.AddCycle(cycle));
        shard.submit(new ShardCommand.AddCycle(fillCycle));
        patienceNanos = options.patience().toNanos();
        int frame = self.pool().frameBytes();
        long burst = (long) (options.bytesPerSecond() * (PullCycle.BURST_NANOS / 1e9));
        chunk = (int) Math.max(frame, Math.min(CHUNK, burst) / frame * frame);
        fillChunk = Math.max(frame, CHUNK / frame * frame);
    }

    public void start() {
        thread.start();
    }

    /** The transfers of pulls, for metrics. */
    public Fetcher fetcher() {
        return fetcher;
    }

    /** The transfers with which extents of clones are filled, for metrics. */
    public Fetcher fillFetcher() {
        return fillFetcher;
    }

    /** How far the pulls under way are. Any thread. */
    public List<CopyReport.Copy> copies() {
        return snapshot().stream()
                .map(each -> new CopyReport.Copy(
                        each.pull().key().space(),
                        each.pull().key().extent(),
                        each.pull().leftBytes()))
                .toList();
    }

    @Override
    public void follow(Hosted hosted) {
        synchronized (this) {
            Set<Pull.Key> listed = new HashSet<>();
            for (HostedPull pull : hosted.pulls()) {
                if (pull.node().equals(self.id()) && pull.incarnation().equals(self.incarnation())) {
                    Pull.Key key = new Pull.Key(pull.space(), pull.extent());
                    listed.add(key);
                    begin(key, hosted.spaces());
                }
            }
            for (Running each : snapshot()) {
                Pull.Key key = each.pull().key();
                if (!listed.contains(key)) {
                    if (each.pull().isCopied()) {
                        continue; // its report is on its way, and the answer ends it
                    }
                    log.info("{} ends: a node is attached, or another home joins", each.pull());
                    end(key);
                }
            }
            // A document that does not list a pull is not followed by one that does.
            ended.retainAll(listed);
            fills.keySet().retainAll(listed);
        }
        thread.wake();
    }

    private void begin(Pull.Key key, List<SpaceExtents> spaces) {
        if (running.containsKey(key) || ended.contains(key)) {
            return;
        }
        for (SpaceExtents space : spaces) {
            if (space.space().id() == key.space()) {
                space.extents().stream()
                        .filter(extent -> key.extent().equals(ExtentEpoch.of(extent)))
                        .forEach(extent -> begin(key, space.space(), extent));
            }
        }
    }

    private void begin(Pull.Key key, Space space, Extent extent) {
        int size = extent.isAllocated() ? chunk : fillChunk;
        Optional<Pull.Target> target = extent.joining()
                .filter(home ->
                        home.node().equals(self.id()) && home.incarnation().equals(self.poolId()))
                .map(home -> new Pull.Target(home.offset(), extent.count() * space.pageSize(), size));
        if (target.isEmpty()) {
            return;
        }
        if (!extent.isAllocated()) {
            space.base()
                    .ifPresent(snapshot -> fills.putIfAbsent(key, new Fill(target.get(), snapshot, System.nanoTime())));
            return;
        }
        List<Pull.Source> sources = extent.homes().stream()
                .map(home -> new Pull.Source(
                        links.apply(home.node()), home.incarnation().value(), home.offset()))
                .toList();
        Pull pull = new Pull(key, target.get(), KeyUse.PULL, sources);
        running.put(key, new Running(pull, Optional.empty(), Optional.empty()));
        log.info(
                "{} begins: {} bytes from {}",
                pull,
                target.get().length(),
                extent.homes().stream().map(ExtentHome::node).toList());
        shard.submit(new ShardCommand.Run(() -> cycle.begin(pull)));
    }

    /** Begins to fill extents whose snapshots this node can read. */
    private void beginFills() throws CoordinatorException {
        Map<Pull.Key, Fill> waiting;
        synchronized (this) {
            waiting = Map.copyOf(fills);
        }
        for (Map.Entry<Pull.Key, Fill> each : waiting.entrySet()) {
            Pull.Key key = each.getKey();
            try {
                Optional<SpaceUse> snapshot = snapshots.use(each.getValue().snapshot());
                if (snapshot.isPresent()) {
                    begin(key, each.getValue(), snapshot.get());
                } else {
                    failed(key, each.getValue(), "its snapshot is deleted");
                }
            } catch (CoordinatorRefusedException e) {
                failed(key, each.getValue(), String.valueOf(e.getMessage()));
            }
        }
    }

    private synchronized void begin(Pull.Key key, Fill fill, SpaceUse snapshot) {
        if (!fills.remove(key, fill)) {
            snapshot.close();
            return;
        }
        Pull pull = new Pull(
                key,
                fill.target(),
                KeyUse.ATTACHMENT,
                sources(snapshot.map(), key.extent().firstPage()));
        running.put(key, new Running(pull, Optional.of(snapshot), Optional.empty()));
        log.info("{} begins: {} bytes of snapshot {}", pull, fill.target().length(), fill.snapshot());
        shard.submit(new ShardCommand.Run(() -> fillCycle.begin(pull)));
    }

    /** The homes of a snapshot that have a page, or this node alone if it is one of them. */
    private List<Pull.Source> sources(SpaceMap snapshot, long page) {
        int extent = snapshot.extent(page);
        List<Pull.Source> sources = new ArrayList<>();
        for (int copy = 0; copy < snapshot.copies(extent); copy++) {
            String home = snapshot.node(extent, copy);
            long pool = snapshot.incarnation(extent, copy);
            long offset = snapshot.offset(extent, copy, page);
            if (!home.equals(self.id())) {
                sources.add(new Pull.Source(links.apply(home), pool, offset));
            } else if (pool == self.poolId().value()) {
                return List.of(new Pull.Source(null, pool, offset));
            }
        }
        return sources;
    }

    private void failed(Pull.Key key, Fill fill, String why) throws CoordinatorException {
        if (System.nanoTime() - fill.since() < patienceNanos) {
            return;
        }
        report(key, Optional.of(why));
        synchronized (this) {
            fills.remove(key);
            ended.add(key);
        }
    }

    /** Makes the shard stop a pull, and does not begin it again. */
    private void end(Pull.Key key) {
        Running gone = running.remove(key);
        if (gone != null) {
            ended.add(key);
            stop(gone);
            gone.snapshot().ifPresent(SpaceUse::close);
        }
    }

    private void stop(Running one) {
        PullCycle by = one.snapshot().isPresent() ? fillCycle : cycle;
        shard.submit(new ShardCommand.Run(() -> by.stop(one.pull())));
    }

    @Override
    public synchronized CompletableFuture<Void> stop(long offset, long length) {
        for (Running each : snapshot()) {
            if (each.pull().target().overlaps(offset, length)) {
                log.info("{} ends: its frames are released", each.pull());
                end(each.pull().key());
            }
        }
        fills.values().removeIf(fill -> fill.target().overlaps(offset, length));
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        // Behind the stops of these, and of those that ended before.
        shard.submit(new ShardCommand.Run(() -> stopped.complete(null)));
        return stopped;
    }

    private Duration step() throws CoordinatorException {
        beginFills();
        long now = System.nanoTime();
        for (Running each : snapshot()) {
            Optional<String> failure = each.failure();
            if (failure.isEmpty() && each.pull().isBlockedFor(patienceNanos, now)) {
                failure = Optional.of(each.pull().obstacle());
                fail(each, failure);
            }
            if (failure.isPresent() || each.pull().isCopied()) {
                report(each.pull().key(), failure);
                synchronized (this) {
                    end(each.pull().key());
                }
            }
        }
        return isIdle() ? ControlThread.UNTIL_WOKEN : CHECK;
    }

    private synchronized boolean isIdle() {
        return running.isEmpty() && fills.isEmpty();
    }

    private synchronized List<Running> snapshot() {
        return List.copyOf(running.values());
    }

    private synchronized void fail(Running each, Optional<String> failure) {
        stop(each);
        running.replace(each.pull().key(), new Running(each.pull(), each.snapshot(), failure));
    }

    private void report(Pull.Key key, Optional<String> failure) throws CoordinatorException {
        try {
            self.coordinator()
                    .pulled(self.id(), new PullReport(self.incarnation(), key.space(), key.extent(), failure));
            if (failure.isPresent()) {
                log.warn("{} is given up: {}", key, failure.get());
            } else {
                log.info("{} is done", key);
            }
        } catch (CoordinatorRefusedException e) {
            if (e.problem().status() != CONFLICT && !e.isNotFound()) {
                throw e;
            }
            log.info("{} ends: {}", key, e.getMessage());
        }
    }

    @Override
    public void close() {
        thread.close();
    }
}
