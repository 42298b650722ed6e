package io.farpage.agent.control.link;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.grant.ReceivedGrants;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Seen;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps links to the other active nodes, to all of them or to those that are needed ({@link LinkMode}). Its thread
 * wakes on events of the coordinator, on notices of shards and at the end of pauses, and makes each link take its next
 * step.
 *
 * <p>While the coordinator is away, links that are up stay up, and no others are made.
 */
public final class LinkControl implements AutoCloseable, Hosting.Links, ReceivedGrants.Links {
    private static final Logger log = LoggerFactory.getLogger(LinkControl.class);
    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration AWAY_PAUSE = Duration.ofMillis(200);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final LinkContext context;
    private final Map<String, LinkSession> sessions = new ConcurrentHashMap<>();
    private final KnownPeers peers;
    private final CoordinatorClient coordinator;
    private final Fencing fencing = new Fencing();
    private final Negotiation negotiation;
    private final CompletionQueueControl completionQueues;
    private final ControlThread thread;
    private final LinkTrail trail = new LinkTrail();
    private volatile LinkWatch watch = _ -> {};
    private volatile boolean devicesChanged;
    private final Queue<FailedQueuePair> failedQueuePairs = new ConcurrentLinkedQueue<>();
    private volatile Consumer<ShardNotice.GrantRefused> refusals = _ -> {};
    private boolean away;
    private Optional<Epoch> publishedIn = Optional.empty();

    private record FailedQueuePair(OpenDevice device, int qpn) {}

    /** @param shards in the order of their numbers */
    public LinkControl(LocalNode self, Transports transports, List<LinkShard> shards, LinkOptions options) {
        thread = new ControlThread("links", new ControlThread.Pauses(TICK, TICK, CLOSE_TIMEOUT), this::step);
        context =
                new LinkContext(self.id(), transports, shards, options, new Destroyer(thread::wake), System::nanoTime);
        peers = new KnownPeers(self.id(), self.coordinator(), options.mode(), this::gone);
        coordinator = self.coordinator();
        negotiation = new Negotiation(self, context, peers, fencing, sessions.values());
        completionQueues = new CompletionQueueControl(context);
    }

    public void start() {
        thread.start();
    }

    /** Incarnations of other nodes that this agent has seen replaced or removed. Any thread. */
    public List<NodeReport.Superseded> superseded() {
        return peers.superseded();
    }

    /** {@code node} came, went or has another state. Any thread. */
    public void nodeChanged(String node) {
        peers.nodeChanged(node);
        thread.wake();
    }

    /** Events may have been missed: all nodes and what they offer are read again. Any thread. */
    public void resync() {
        peers.resync();
        thread.wake();
    }

    /** The usability of a device has changed. Any thread. */
    public void devicesChanged() {
        devicesChanged = true;
        thread.wake();
    }

    /** A device says that a completion queue of its has failed, and not which: all are made anew. Any thread. */
    public void completionQueueFailed(OpenDevice device) {
        context.shards().forEach(shard -> shard.rails().fail(device, shard.loop(), "the device says so"));
    }

    /** A device says that a queue pair has failed: its link is made anew. Any thread. */
    public void queuePairFailed(OpenDevice device, int qpn) {
        failedQueuePairs.add(new FailedQueuePair(device, qpn));
        thread.wake();
    }

    /**
     * Fails all links on a device and destroys its completion queues. Completes when the device is no longer in use.
     * Any thread.
     */
    public CompletableFuture<Void> abandon(OpenDevice device) {
        CompletableFuture<Void> done = completionQueues.abandon(device);
        thread.wake();
        return done;
    }

    /**
     * Destroys all queue pairs with an incarnation of a peer and creates no more. Completes when none is left. Any
     * thread.
     */
    @Override
    public CompletableFuture<Void> fence(String peer, Incarnation old) {
        CompletableFuture<Void> done = fencing.begin(peer, old.value());
        thread.wake();
        return done;
    }

    @Override
    public void unfence(String peer, Incarnation old) {
        fencing.lift(peer, old.value());
        thread.wake();
    }

    /** {@code peer} published toward this node, or withdrew. Any thread. */
    public void offerChanged(String peer) {
        peers.offerChanged(peer);
        thread.wake();
    }

    /** A shard has a notice. Any thread; cheap. */
    public void noticed() {
        thread.wake();
    }

    /**
     * Starts the link to {@code peer} without waiting for the other side, grace or pause. Any thread.
     *
     * @return false if the coordinator knows no other node of that id
     */
    public boolean connect(String peer) {
        if (!peers.has(peer) && !appears(peer)) {
            return false;
        }
        peers.want(peer);
        negotiation.request(peer);
        thread.wake();
        return true;
    }

    /** Whether the coordinator knows a peer that this node does not follow yet; true if the coordinator is away. */
    private boolean appears(String peer) {
        if (context.options().mode() == LinkMode.MESH) {
            return false;
        }
        try {
            return coordinator.node(peer).isPresent();
        } catch (CoordinatorException e) {
            log.debug("whether there is a node {} is unknown: {}", peer, e.getMessage());
            return true;
        }
    }

    /**
     * The nodes whose events concern the links; all nodes, if empty. To be called at the beginning of each poll for
     * events. Any thread.
     */
    public Optional<Set<String>> watched() {
        Optional<Set<String>> watched = peers.watched();
        thread.wake();
        return watched;
    }

    @Override
    public void want(String peer) {
        if (context.options().mode() == LinkMode.DEMAND && !peers.wants(peer)) {
            peers.want(peer);
            thread.wake();
        }
    }

    /** The shard's side of the link to {@code peer}, which may not be up. Any thread. */
    public PeerLink link(String peer, int shard) {
        want(peer);
        return session(peer).links().get(shard);
    }

    @Override
    public void grant(String peer, PeerGrants grants) {
        want(peer);
        session(peer).grant(grants);
        thread.wake();
    }

    /** Sets the receiver of reports about keys that a peer refuses. It is called on the links' thread. */
    public void onGrantRefused(Consumer<ShardNotice.GrantRefused> listener) {
        refusals = listener;
    }

    /** All links, as they are now. Any thread. */
    public List<LinkStatus> status() {
        return sessions.values().stream()
                .map(LinkSession::status)
                .sorted(Comparator.comparing(LinkStatus::peer))
                .toList();
    }

    /**
     * The peers that have granted ranges without a key for a device, which the link to them does not use. Any thread.
     */
    public Set<String> withoutKeys() {
        return sessions.values().stream()
                .filter(LinkSession::isWithoutKeys)
                .map(LinkSession::peer)
                .collect(Collectors.toSet());
    }

    private LinkSession session(String peer) {
        return sessions.computeIfAbsent(peer, p -> new LinkSession(p, context));
    }

    /** Sets the watch, which receives the changes of links from now on. Any thread. */
    public void onChange(LinkWatch next) {
        watch = next;
    }

    private Duration step() throws CoordinatorException {
        try {
            return advance();
        } finally {
            trail.observe(sessions.values(), watch);
        }
    }

    private Duration advance() throws CoordinatorException {
        try {
            handleNotices();
            context.destroyer().runContinuations();
            leaveDevices();
            fencing.enforce(this::session);
            peers.refresh();
            publishAgain();
            for (String peer : peers.ids()) {
                Optional<PeerView> view = peers.view(peer);
                if (view.isPresent()) {
                    negotiation.step(session(peer), view.get());
                }
            }
            away = false;
        } catch (CoordinatorUnreachableException e) {
            if (!away) {
                log.warn("coordinator is away, links stay as they are: {}", e.getMessage());
                away = true;
            }
            return AWAY_PAUSE;
        } catch (CoordinatorRefusedException e) {
            log.warn("{}", e.getMessage());
            peers.resync();
        }
        return TICK;
    }

    /** A coordinator that was started again does not know what was published to the one before. */
    private void publishAgain() {
        Optional<Epoch> now = coordinator.allegiance().status().seen().map(Seen::epoch);
        if (!now.equals(publishedIn)) {
            sessions.values().forEach(LinkSession::publishAgain);
            publishedIn = now;
        }
    }

    private void handleNotices() {
        for (LinkShard each : context.shards()) {
            Shard shard = each.loop().shard();
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                switch (notice) {
                    case ShardNotice.Up up -> session(up.link().peer()).handle(up);
                    case ShardNotice.Released released ->
                        session(released.link().peer()).handle(released);
                    case ShardNotice.Switched switched ->
                        session(switched.link().peer()).handle(switched);
                    case ShardNotice.GrantRefused refused -> refusals.accept(refused);
                    case ShardNotice.RailFailed(Rail rail, String reason) ->
                        completionQueues.failed(each, rail, reason);
                }
            }
        }
    }

    private void leaveDevices() {
        if (devicesChanged) {
            devicesChanged = false;
            sessions.values().forEach(LinkSession::devicesChanged);
        }
        for (FailedQueuePair one = failedQueuePairs.poll(); one != null; one = failedQueuePairs.poll()) {
            for (LinkSession session : sessions.values()) {
                session.queuePairFailed(one.device(), one.qpn());
            }
        }
        sessions.values().forEach(LinkSession::leaveUnusableDevices);
        sessions.values().forEach(LinkSession::leaveDevicesWithoutKeys);
        completionQueues.step(device -> sessions.values().stream().anyMatch(s -> s.uses(device)));
    }

    /** Stops creating links. Existing links stay until the shards are closed, which destroys their queue pairs. */
    @Override
    public void close() {
        thread.close();
        try {
            if (!context.destroyer().stop(CLOSE_TIMEOUT)) {
                log.error("queue pairs of links that failed are still being destroyed after {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        sessions.values().forEach(LinkSession::close);
    }

    private void gone(String peer) {
        negotiation.forget(peer);
        session(peer).disconnect("the node was removed from the cluster");
    }
}
