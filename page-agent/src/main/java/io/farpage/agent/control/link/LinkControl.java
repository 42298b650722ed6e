package io.farpage.agent.control.link;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.member.Fences;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.verbs.VerbsException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a link to every other active node. Its thread wakes on events of the coordinator, on notices of shards and at the end of pauses, and takes
 * the next {@link Handshake} step of each link.
 *
 * <p>While the coordinator is away, links that are up stay up, and no others are made.
 */
public final class LinkControl implements AutoCloseable, Fences.Links {
    /** Name of the region that is a pool's header page. */
    public static final String HEADER_REGION = PeerView.HEADER;

    private static final Logger log = LoggerFactory.getLogger(LinkControl.class);
    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration AWAY_PAUSE = Duration.ofMillis(200);
    private static final Duration RENEWAL_PAUSE = Duration.ofSeconds(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final String node;
    private final Incarnation incarnation;
    private final CoordinatorClient coordinator;
    private final Transports transports;
    private final List<ShardLoop> shards;
    private final List<ShardRails> rails;
    private final LinkOptions options;
    private final SecureRandom random = new SecureRandom();

    private final Map<String, LinkSession> sessions = new ConcurrentHashMap<>();
    private final KnownPeers peers;
    private final Fencing fencing = new Fencing();

    private final Semaphore signal = new Semaphore(0);
    private final Set<String> asked = ConcurrentHashMap.newKeySet();
    private final Map<OpenDevice, CompletableFuture<Void>> abandoned = new ConcurrentHashMap<>();
    private final Destroyer destroyer = new Destroyer(signal::release);
    private final List<FailedRail> failedRails = new ArrayList<>();
    private volatile boolean devicesChanged;
    private volatile boolean stopping;
    private boolean away;
    private final Thread thread;

    /** A completion queue that is to be created again once its queue pairs are destroyed and a pause is over. */
    private record FailedRail(int shard, OpenDevice device, long due) {}

    public LinkControl(
            LocalNode self,
            Transports transports,
            List<ShardLoop> shards,
            List<ShardRails> rails,
            LinkOptions options) {
        this.node = self.id();
        this.incarnation = self.incarnation();
        this.coordinator = self.coordinator();
        this.transports = transports;
        this.shards = List.copyOf(shards);
        this.rails = List.copyOf(rails);
        this.options = options;
        this.peers = new KnownPeers(node, coordinator, new Peers());
        this.thread = Thread.ofVirtual().name("links").unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    /** Incarnations of other nodes that this agent has seen replaced or removed. Any thread. */
    public List<NodeReport.Superseded> superseded() {
        return peers.superseded();
    }

    /** Nodes or regions have changed. Any thread. */
    public void nodesChanged() {
        peers.nodesChanged();
        signal.release();
    }

    /** {@code peer} published a region. Any thread. */
    public void regionsChanged(String peer) {
        peers.regionsChanged(peer);
        signal.release();
    }

    /** The usability of a device has changed. Any thread. */
    public void devicesChanged() {
        devicesChanged = true;
        signal.release();
    }

    /** Fails all links on a device and destroys its completion queues. Completes when the device is no longer in use. Any thread. */
    public CompletableFuture<Void> abandon(OpenDevice device) {
        CompletableFuture<Void> done = abandoned.computeIfAbsent(device, d -> new CompletableFuture<>());
        signal.release();
        return done;
    }

    /** Destroys all queue pairs with an incarnation of a peer and creates no more. Completes when none is left. Any thread. */
    @Override
    public CompletableFuture<Void> fence(String peer, Incarnation old) {
        CompletableFuture<Void> done = fencing.begin(peer, old.value());
        signal.release();
        return done;
    }

    @Override
    public void unfence(String peer, Incarnation old) {
        fencing.lift(peer, old.value());
        signal.release();
    }

    /** {@code peer} published toward this node, or withdrew. Any thread. */
    public void offerChanged(String peer) {
        peers.offerChanged(peer);
        signal.release();
    }

    /** A shard has a notice. Any thread; cheap. */
    public void noticed() {
        signal.release();
    }

    /**
     * Starts the link to {@code peer} without waiting for the other side, grace or pause. Any thread.
     *
     * @return false if the coordinator knows no other node of that id
     */
    public boolean connect(String peer) {
        if (!peers.has(peer)) {
            return false;
        }
        asked.add(peer);
        signal.release();
        return true;
    }

    /** The shard's side of the link to {@code peer}, which may not be up. Any thread. */
    public PeerLink link(String peer, int shard) {
        return session(peer).links().get(shard);
    }

    /** All links, as they are now. Any thread. */
    public List<LinkStatus> status() {
        return sessions.values().stream()
                .map(LinkSession::status)
                .sorted(Comparator.comparing(LinkStatus::peer))
                .toList();
    }

    private LinkSession session(String peer) {
        return sessions.computeIfAbsent(peer, p -> new LinkSession(p, transports, shards, rails, options, destroyer));
    }

    private void run() {
        while (!stopping) {
            try {
                signal.tryAcquire(TICK.toMillis(), TimeUnit.MILLISECONDS);
                signal.drainPermits();
                handleNotices();
                destroyed();
                leaveDevices();
                renewRails();
                fencing.enforce(this::session);
                peers.refresh();
                for (String peer : peers.ids()) {
                    step(peer);
                }
                away = false;
            } catch (CoordinatorUnreachableException e) {
                pause(e);
            } catch (CoordinatorRefusedException e) {
                log.warn("{}", e.getMessage());
                peers.nodesChanged();
            } catch (CoordinatorException | InterruptedException e) {
                log.debug("links: {}", e.toString());
            } catch (RuntimeException e) {
                log.error("links: unexpected", e);
            }
        }
    }

    private void pause(CoordinatorUnreachableException e) {
        if (!away) {
            log.warn("coordinator is away, links stay as they are: {}", e.getMessage());
            away = true;
        }
        try {
            Thread.sleep(AWAY_PAUSE);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void handleNotices() {
        for (int shard = 0; shard < shards.size(); shard++) {
            Shard of = shards.get(shard).shard();
            for (ShardNotice notice = of.pollNotice(); notice != null; notice = of.pollNotice()) {
                switch (notice) {
                    case ShardNotice.Up up -> session(up.link().peer()).handle(up);
                    case ShardNotice.Released released ->
                        session(released.link().peer()).handle(released);
                    case ShardNotice.Switched switched ->
                        session(switched.link().peer()).handle(switched);
                    case ShardNotice.RailFailed(Rail rail, String reason) -> {
                        log.error("shard {}: {}; its links are given up, and it is made anew", shard, reason);
                        int failed = shard;
                        rails.get(shard)
                                .deviceOf(rail)
                                .ifPresent(device -> failedRails.add(
                                        new FailedRail(failed, device, System.nanoTime() + RENEWAL_PAUSE.toNanos())));
                    }
                }
            }
        }
    }

    private void destroyed() {
        for (Runnable then = destroyer.poll(); then != null; then = destroyer.poll()) {
            then.run();
        }
    }

    private boolean isInUse(OpenDevice device) {
        return sessions.values().stream().anyMatch(s -> s.uses(device));
    }

    private void renewRails() {
        for (FailedRail failed : List.copyOf(failedRails)) {
            if (isInUse(failed.device()) || System.nanoTime() - failed.due() < 0) {
                continue;
            }
            failedRails.remove(failed);
            try {
                rails.get(failed.shard()).renew(failed.device(), shards.get(failed.shard()));
            } catch (VerbsException e) {
                log.error("{} is not used any more by shard {}: {}", failed.device(), failed.shard(), e.getMessage());
            }
        }
    }

    private void leaveDevices() {
        if (devicesChanged) {
            devicesChanged = false;
            sessions.values().forEach(LinkSession::devicesChanged);
        }
        sessions.values().forEach(LinkSession::leaveStranded);
        abandoned.forEach((device, done) -> {
            if (!isInUse(device)) {
                abandoned.remove(device);
                failedRails.removeIf(failed -> failed.device().equals(device));
                CompletableFuture<?>[] removed = new CompletableFuture<?>[shards.size()];
                for (int i = 0; i < removed.length; i++) {
                    removed[i] = rails.get(i).remove(device, shards.get(i));
                }
                var _ = CompletableFuture.allOf(removed).whenComplete((_, failed) -> {
                    if (failed == null) {
                        done.complete(null);
                    } else {
                        done.completeExceptionally(failed);
                    }
                });
            }
        });
    }

    private void step(String peer) throws CoordinatorException {
        Optional<PeerView> known = peers.view(peer);
        if (known.isPresent()) {
            step(session(peer), known.get());
        }
    }

    private void step(LinkSession session, PeerView view) throws CoordinatorException {
        String peer = session.peer();
        long now = System.nanoTime();
        if (session.main().isOut() && session.peerIncarnation() != view.incarnation()) {
            session.disconnect("the peer restarted");
        }
        boolean isAsked = asked.contains(peer);
        boolean wanted = !fencing.covers(peer, view.incarnation())
                && view.node().status() == NodeStatus.ACTIVE
                && view.isComplete()
                && (isAsked || session.mayStart(now));
        if (!wanted) {
            return;
        }
        Optional<Endpoint> offer = peers.offer(peer).filter(o -> isCurrent(o, view));
        boolean eager = isAsked
                || node.compareTo(peer) < 0
                || peers.age(peer, now) > options.grace().toNanos();
        Handshake.Step next = session.next(offer, eager);
        if (next != Handshake.Step.WAIT) {
            asked.remove(peer);
            execute(next, session, view, offer);
        } else {
            stepTrial(session, view, offer, now);
        }
    }

    private boolean isCurrent(Endpoint offer, PeerView view) {
        return offer.incarnation().equals(view.node().incarnation())
                && offer.peerIncarnation().equals(incarnation);
    }

    private void execute(Handshake.Step step, LinkSession session, PeerView view, Optional<Endpoint> offer)
            throws CoordinatorException {
        boolean begins = step == Handshake.Step.OFFER || step == Handshake.Step.ANSWER;
        if (begins && sessions.values().stream().filter(s -> !s.isIdle()).count() >= options.max()) {
            session.refuse("link.max of " + options.max() + " links is reached; raise it");
            return;
        }
        try {
            switch (step) {
                case WAIT -> {}
                case OFFER -> {
                    session.offer(newAttempt(), view, offer);
                    publish(session, view);
                }
                case ANSWER -> {
                    session.answer(newAttempt(), view, offer.orElseThrow());
                    publish(session, view);
                    session.finish(view);
                }
                case CONNECT -> {
                    session.connectOffered(offer.orElseThrow());
                    publish(session, view);
                    session.finish(view);
                }
                case GIVE_UP -> session.disconnect("the peer started the link anew");
            }
        } catch (VerbsException | IllegalArgumentException e) {
            session.failed(e.toString());
        } catch (CoordinatorException e) {
            // Whether the offer was published is unknown: its queue pairs are destroyed, so that none is left behind.
            session.failed(e.toString());
            throw e;
        }
    }

    /** Brings up a better transport beside the link. If it fails, the link continues. */
    private void stepTrial(LinkSession session, PeerView view, Optional<Endpoint> offer, long now)
            throws CoordinatorException {
        boolean mayStart =
                sessions.values().stream().filter(LinkSession::hasTrial).count() < LinkOptions.TRIALS;
        try {
            session.stepTrial(view, offer, newAttempt(), mayStart, now);
            if (session.isUnpublished()) {
                publish(session, view);
            }
        } catch (VerbsException | IllegalArgumentException e) {
            session.failTrial(e.toString());
        }
    }

    private long newAttempt() {
        return random.nextLong();
    }

    private void publish(LinkSession session, PeerView view) throws CoordinatorException {
        coordinator.publishEndpoint(node, session.peer(), session.toPublish(incarnation));
        session.published(view);
    }

    /** Stops creating links. Existing links stay until the shards are closed. */
    @Override
    public void close() {
        stopping = true;
        signal.release();
        try {
            if (thread.getState() != Thread.State.NEW && !thread.join(CLOSE_TIMEOUT)) {
                log.warn("links did not stop within {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        // Shards destroy their queue pairs when they are closed.
        try {
            if (!destroyer.stop(CLOSE_TIMEOUT)) {
                log.error("queue pairs of links that were given up are still being destroyed after {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        sessions.values().forEach(LinkSession::close);
    }

    private final class Peers implements KnownPeers.Listener {
        @Override
        public void appeared(String peer, long incarnation) {
            session(peer).knownIncarnation(incarnation);
        }

        @Override
        public void gone(String peer) {
            asked.remove(peer);
            session(peer).disconnect("the node was removed from the cluster");
            session(peer).knownIncarnation(0);
        }
    }
}
