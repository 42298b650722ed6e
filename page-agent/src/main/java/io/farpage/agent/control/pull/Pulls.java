package io.farpage.agent.control.pull;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.member.PoolPulls;
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
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
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
 * meanwhile; otherwise the attached node copies what it has written meanwhile. A pull that gets no page for ten seconds
 * is given up. Thread-safe.
 */
public final class Pulls implements PoolPulls, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Pulls.class);
    private static final Duration CHECK = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final long PATIENCE_NANOS = Duration.ofSeconds(10).toNanos();
    private static final int CHUNK = 128 << 10;
    private static final int CONFLICT = 409;

    private final LocalNode self;
    private final ShardLoop shard;
    private final Function<String, PeerLink> links;
    private final Fetcher fetcher;
    private final PullCycle cycle;
    private final int chunk;
    private final ControlThread thread;
    private final Map<Pull.Key, Running> running = new HashMap<>();
    /** Ended, and perhaps still listed by an answer that is on its way. */
    private final Set<Pull.Key> ended = new HashSet<>();

    /** @param failure why the pull is given up, which must still be reported to the coordinator */
    private record Running(Pull pull, Optional<String> failure) {}

    /**
     * How this node pulls.
     *
     * @param bytesPerSecond at most, of all pulls together
     * @param deadline of one transfer
     */
    public record Options(long bytesPerSecond, Duration deadline) {}

    /**
     * Adds itself to a shard that has not started yet.
     *
     * @param links the shard's side of the link to a node
     */
    public Pulls(LocalNode self, ShardLoop shard, Function<String, PeerLink> links, Options options) {
        this.self = self;
        this.shard = shard;
        this.links = links;
        fetcher = shard.shard().newFetcher(PullCycle.RUNS, options.deadline().toNanos(), KeyUse.PULL);
        thread = new ControlThread(
                "pulls", new ControlThread.Pauses(ControlThread.UNTIL_WOKEN, CHECK, CLOSE_TIMEOUT), this::step);
        cycle = new PullCycle(fetcher, self.pool(), options.bytesPerSecond(), System::nanoTime, thread::wake);
        shard.submit(new ShardCommand.AddCycle(cycle));
        int frame = self.pool().frameBytes();
        long burst = (long) (options.bytesPerSecond() * (PullCycle.BURST_NANOS / 1e9));
        chunk = (int) Math.max(frame, Math.min(CHUNK, burst) / frame * frame);
    }

    public void start() {
        thread.start();
    }

    /** The transfers of pulls, for metrics. */
    public Fetcher fetcher() {
        return fetcher;
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
                        .forEach(extent -> begin(key, extent, space.space().pageSize()));
            }
        }
    }

    private void begin(Pull.Key key, Extent extent, int pageSize) {
        Optional<Pull.Target> target = extent.joining()
                .filter(home ->
                        home.node().equals(self.id()) && home.incarnation().equals(self.poolId()))
                .map(home -> new Pull.Target(home.offset(), extent.count() * pageSize, chunk));
        if (target.isEmpty()) {
            return;
        }
        List<Pull.Source> sources = extent.homes().stream()
                .map(home -> new Pull.Source(
                        links.apply(home.node()), home.incarnation().value(), home.offset()))
                .toList();
        Pull pull = new Pull(key, target.get(), sources);
        running.put(key, new Running(pull, Optional.empty()));
        log.info("{} begins: {} bytes from {}", pull, target.get().length(), names(extent));
        shard.submit(new ShardCommand.Run(() -> cycle.begin(pull)));
    }

    private static List<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).toList();
    }

    /** Makes the shard stop a pull, and does not begin it again. */
    private void end(Pull.Key key) {
        Running gone = running.remove(key);
        if (gone != null) {
            ended.add(key);
            stop(gone.pull());
        }
    }

    private void stop(Pull pull) {
        shard.submit(new ShardCommand.Run(() -> cycle.stop(pull)));
    }

    @Override
    public synchronized CompletableFuture<Void> stop(long offset, long length) {
        for (Running each : snapshot()) {
            if (each.pull().target().overlaps(offset, length)) {
                log.info("{} ends: its frames are released", each.pull());
                end(each.pull().key());
            }
        }
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        // Behind the stops of these, and of those that ended before.
        shard.submit(new ShardCommand.Run(() -> stopped.complete(null)));
        return stopped;
    }

    private Duration step() throws CoordinatorException {
        long now = System.nanoTime();
        for (Running each : snapshot()) {
            Optional<String> failure = each.failure();
            if (failure.isEmpty() && each.pull().isBlockedFor(PATIENCE_NANOS, now)) {
                failure = Optional.of(each.pull().obstacle());
                fail(each, failure);
            }
            if (failure.isPresent() || each.pull().isCopied()) {
                report(each.pull(), failure);
            }
        }
        return snapshot().isEmpty() ? ControlThread.UNTIL_WOKEN : CHECK;
    }

    private synchronized List<Running> snapshot() {
        return List.copyOf(running.values());
    }

    private synchronized void fail(Running each, Optional<String> failure) {
        stop(each.pull());
        running.replace(each.pull().key(), new Running(each.pull(), failure));
    }

    private void report(Pull pull, Optional<String> failure) throws CoordinatorException {
        Pull.Key key = pull.key();
        try {
            self.coordinator()
                    .pulled(self.id(), new PullReport(self.incarnation(), key.space(), key.extent(), failure));
            if (failure.isPresent()) {
                log.warn("{} is given up: {}", pull, failure.get());
            } else {
                log.info("{} is done", pull);
            }
        } catch (CoordinatorRefusedException e) {
            if (e.problem().status() != CONFLICT && !e.isNotFound()) {
                throw e;
            }
            log.info("{} ends: {}", pull, e.getMessage());
        }
        synchronized (this) {
            end(key);
        }
    }

    @Override
    public void close() {
        thread.close();
    }
}
