package io.farpage.agent.link;

import io.farpage.agent.link.Handshake.Mine;
import io.farpage.agent.link.Handshake.Theirs;
import io.farpage.agent.member.Fences;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.shard.ShardLoop;
import io.farpage.agent.shard.ShardNotice;
import io.farpage.agent.transport.OpenDevice;
import io.farpage.agent.transport.Transports;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.verbs.VerbsException;
import java.security.SecureRandom;
import java.time.Duration;
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
 * Keeps a link to every other active node. One thread does all of it: it wakes when the coordinator has news, when a shard has, or when a
 * pause is over, looks at the state of each link and takes the next {@link Handshake} step.
 *
 * <p>While the coordinator is away nothing here moves and nothing breaks: links that are up stay up.
 */
public final class LinkControl implements AutoCloseable, Fences.Links {
    /** Name of the region that is a pool's header page. */
    public static final String HEADER_REGION = PeerView.HEADER;

    private static final Logger log = LoggerFactory.getLogger(LinkControl.class);
    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration AWAY_PAUSE = Duration.ofMillis(200);
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
    private volatile boolean stopping;
    private boolean away;
    private final Thread thread;

    public LinkControl(
            String node,
            Incarnation incarnation,
            CoordinatorClient coordinator,
            Transports transports,
            List<ShardLoop> shards,
            List<ShardRails> rails,
            LinkOptions options) {
        this.node = node;
        this.incarnation = incarnation;
        this.coordinator = coordinator;
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

    /** Something about nodes or regions changed. Any thread. */
    public void nodesChanged() {
        peers.nodesChanged();
        signal.release();
    }

    /** {@code peer} published a region. Any thread. */
    public void regionsChanged(String peer) {
        peers.regionsChanged(peer);
        signal.release();
    }

    /** Whether devices can be used changed. Any thread. */
    public void devicesChanged() {
        signal.release();
    }

    /** Gives up all links on a device and destroys its completion queues. Completes when nothing of it is in use. Any thread. */
    public CompletableFuture<Void> abandon(OpenDevice device) {
        CompletableFuture<Void> done = abandoned.computeIfAbsent(device, d -> new CompletableFuture<>());
        signal.release();
        return done;
    }

    /** Destroys all queue pairs with an incarnation of a peer and makes no more. Completes when none is left. Any thread. */
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
        return sessions.computeIfAbsent(peer, p -> {
            List<PeerLink> links = shards.stream().map(s -> new PeerLink(p)).toList();
            return new LinkSession(p, transports, shards, rails, links, options);
        });
    }

    private void run() {
        while (!stopping) {
            try {
                signal.tryAcquire(TICK.toMillis(), TimeUnit.MILLISECONDS);
                signal.drainPermits();
                takeNotices();
                leaveDevices();
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

    private void takeNotices() {
        for (ShardLoop shard : shards) {
            for (ShardNotice notice = shard.shard().pollNotice();
                    notice != null;
                    notice = shard.shard().pollNotice()) {
                session(notice.link().peer()).take(notice);
            }
        }
    }

    private void leaveDevices() {
        for (LinkSession session : sessions.values()) {
            if (session.isStranded()) {
                session.giveUp("its device can no longer be used");
            }
        }
        abandoned.forEach((device, done) -> {
            if (sessions.values().stream().noneMatch(s -> s.uses(device))) {
                abandoned.remove(device);
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
        boolean hasQueuePairs = session.mine() instanceof Mine.Offered || session.mine() instanceof Mine.Connected;
        if (hasQueuePairs && session.peerIncarnation() != view.incarnation()) {
            session.giveUp("the peer restarted");
        }
        if (session.wantsBetterTransport(view, now)) {
            log.info("link to {}: trying rdma again", peer);
            session.giveUp("trying rdma again");
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
        Optional<Theirs> theirs = offer.flatMap(session::theirs);
        boolean eager = isAsked
                || node.compareTo(peer) < 0
                || peers.age(peer, now) > options.grace().toNanos();
        Handshake.Step next = Handshake.next(session.mine(), theirs, session.lastUsed(), eager);
        if (next != Handshake.Step.WAIT) {
            asked.remove(peer);
            take(next, session, view, offer);
        }
    }

    private boolean isCurrent(Endpoint offer, PeerView view) {
        return offer.incarnation().equals(view.node().incarnation())
                && offer.peerIncarnation().equals(incarnation);
    }

    private void take(Handshake.Step step, LinkSession session, PeerView view, Optional<Endpoint> offer)
            throws CoordinatorException {
        try {
            switch (step) {
                case WAIT -> {}
                case OFFER -> {
                    long attempt = newAttempt();
                    publish(session, view, attempt, Optional.empty(), session.offer(attempt, view, offer));
                }
                case ANSWER -> {
                    long attempt = newAttempt();
                    Endpoint theirs = offer.orElseThrow();
                    publish(session, view, attempt, theirs.attempt(), session.answer(attempt, view, theirs));
                    session.finish(view);
                }
                case CONNECT -> {
                    Endpoint theirs = offer.orElseThrow();
                    long attempt = ((Mine.Offered) session.mine()).attempt();
                    publish(session, view, attempt, theirs.attempt(), session.connectOffered(theirs));
                    session.finish(view);
                }
                case GIVE_UP -> session.giveUp("the peer started the link anew");
            }
        } catch (VerbsException | IllegalArgumentException e) {
            session.failed(e.toString());
        } catch (CoordinatorException e) {
            // Whether it was published is unknown: what was made is thrown away, so that no half-known offer stays
            // behind.
            session.failed(e.toString());
            throw e;
        }
    }

    private long newAttempt() {
        return random.nextLong();
    }

    private void publish(
            LinkSession session, PeerView view, long attempt, Optional<Attempt> answers, List<QpEntry> entries)
            throws CoordinatorException {
        coordinator.publishEndpoint(
                node,
                session.peer(),
                new EndpointRequest(
                        incarnation, view.node().incarnation(), Optional.of(new Attempt(attempt)), answers, entries));
    }

    /** Stops making links; those that exist stay until the shards are closed. */
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
        // Queue pairs on offer belong to nobody else; those that shards have, the shards destroy.
        for (LinkSession session : sessions.values()) {
            if (session.mine() instanceof Mine.Offered) {
                session.giveUp("the agent is shutting down");
            }
        }
    }

    private final class Peers implements KnownPeers.Listener {
        @Override
        public void appeared(String peer, long incarnation) {
            session(peer).knownIncarnation(incarnation);
        }

        @Override
        public void gone(String peer) {
            asked.remove(peer);
            session(peer).giveUp("the node was removed from the cluster");
            session(peer).knownIncarnation(0);
        }
    }
}
