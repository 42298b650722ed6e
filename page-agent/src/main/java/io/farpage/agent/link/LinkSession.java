package io.farpage.agent.link;

import io.farpage.agent.link.Handshake.Mine;
import io.farpage.agent.link.Handshake.Theirs;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.shard.ShardCommand;
import io.farpage.agent.shard.ShardLoop;
import io.farpage.agent.shard.ShardNotice;
import io.farpage.agent.transport.OpenDevice;
import io.farpage.agent.transport.Transport;
import io.farpage.agent.transport.Transports;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The control plane's side of the link to one peer: its queue pairs, from RESET until the shards have given them back. */
final class LinkSession {
    private static final Logger log = LoggerFactory.getLogger(LinkSession.class);

    private final String peer;
    private final Transports transports;
    private final List<ShardLoop> shards;
    private final List<ShardRails> rails;
    private final List<PeerLink> links;
    private final LinkOptions options;

    private volatile Mine mine = new Mine.Nothing();
    private final List<LinkQueuePair> queuePairs = new ArrayList<>();
    private OptionalLong lastUsed = OptionalLong.empty();
    private long peerIncarnation;
    private int upShards;
    private volatile boolean up;
    private int attached;
    private int failures;
    private volatile String lastFailure = "";
    private volatile String transportInUse = "";
    private long notBefore;
    private long rdmaPausedUntil;

    /** @param links the shards' sides, one for each */
    LinkSession(
            String peer,
            Transports transports,
            List<ShardLoop> shards,
            List<ShardRails> rails,
            List<PeerLink> links,
            LinkOptions options) {
        this.peer = peer;
        this.transports = transports;
        this.shards = shards;
        this.rails = rails;
        this.links = links;
        this.options = options;
        this.rdmaPausedUntil = System.nanoTime();
        this.notBefore = System.nanoTime();
    }

    String peer() {
        return peer;
    }

    Mine mine() {
        return mine;
    }

    OptionalLong lastUsed() {
        return lastUsed;
    }

    List<PeerLink> links() {
        return links;
    }

    boolean isUp() {
        return up;
    }

    /** Whether the pause after a failure is over. */
    boolean mayStart(long now) {
        return now - notBefore >= 0;
    }

    /** The incarnation of the peer that the present queue pairs are for. */
    long peerIncarnation() {
        return peerIncarnation;
    }

    /** Whether the link could be over RDMA but is not, and it is time to try again. */
    boolean wantsBetterTransport(PeerView view, long now) {
        return isUp()
                && transportInUse.equals(Transport.TCP.word())
                && transports.preferred() == Transport.RDMA
                && view.node().transports().contains(TransportKind.RDMA)
                && rdmaPausedUntil - now < 0;
    }

    /**
     * Creates queue pairs on every transport and moves them to INIT.
     *
     * @param theirs what the peer has published, whatever has become of it: it takes as many queue pairs to suffice the peer
     */
    List<QpEntry> offer(long attempt, PeerView view, Optional<Endpoint> theirs) {
        begin(view);
        for (OpenDevice device : usableDevices()) {
            tryCreate(device, theirs.map(t -> needed(t, device)).orElse(shards.size()));
        }
        if (queuePairs.isEmpty()) {
            throw new VerbsException("no device is usable: " + transports.describe());
        }
        mine = new Mine.Offered(attempt);
        return entries();
    }

    /** Creates queue pairs on the best transport that both have and moves them to RTR; {@link #finish} does the rest. */
    List<QpEntry> answer(long attempt, PeerView view, Endpoint theirs) {
        begin(view);
        OpenDevice device = bestOf(theirs);
        create(device, 0, needed(theirs, device));
        connect(theirs, device);
        mine = new Mine.Connected(attempt, theirs.attempt().orElseThrow().value());
        lastUsed = OptionalLong.of(theirs.attempt().orElseThrow().value());
        return entries();
    }

    /** Moves the queue pairs on offer that are on the best transport both have to RTR, and destroys the others. */
    List<QpEntry> connectOffered(Endpoint theirs) {
        long attempt = ((Mine.Offered) mine).attempt();
        OpenDevice device = bestOf(theirs);
        close(queuePairs.stream().filter(q -> !q.device().equals(device)).toList());
        create(device, queuePairs.size(), needed(theirs, device));
        connect(theirs, device);
        mine = new Mine.Connected(attempt, theirs.attempt().orElseThrow().value());
        lastUsed = OptionalLong.of(theirs.attempt().orElseThrow().value());
        return entries();
    }

    private void begin(PeerView view) {
        peerIncarnation = view.incarnation();
        isDown();
        attached = 0;
    }

    private void isDown() {
        upShards = 0;
        up = false;
    }

    private List<OpenDevice> usableDevices() {
        boolean paused = rdmaPausedUntil - System.nanoTime() > 0;
        return transports.devices().stream()
                .filter(OpenDevice::isUsable)
                .filter(d -> rails.stream().allMatch(r -> r.has(d)))
                .filter(d -> d.transport() == Transport.TCP || !paused)
                .toList();
    }

    /** A device that fails while others work is left out of the offer. */
    private void tryCreate(OpenDevice device, int count) {
        try {
            create(device, 0, count);
        } catch (VerbsException e) {
            log.warn("link to {} is not offered over {}: {}", peer, device, e.getMessage());
            close(queuePairs.stream().filter(q -> q.device().equals(device)).toList());
        }
    }

    /**
     * Creates queue pairs from the {@code from}th up to the {@code to}th. What is above the number of this node's shards answers the
     * requests of shards that only the peer has, and posts none.
     */
    private void create(OpenDevice device, int from, int to) {
        for (int shard = from; shard < to; shard++) {
            var rail = rails.get(shard % shards.size()).on(device);
            QueuePair queuePair = device.domain()
                    .createQueuePair(rail.completionQueue(), rail.completionQueue(), options.queuePairs());
            queuePairs.add(new LinkQueuePair(device, shard, rail, queuePair));
            queuePair.modifyToInit();
        }
    }

    private OpenDevice bestOf(Endpoint theirs) {
        for (OpenDevice device : usableDevices()) {
            if (entry(theirs, device, 0).isPresent()) {
                return device;
            }
        }
        throw new VerbsException("no transport in common with " + peer + ": it offers "
                + theirs.entries().stream()
                        .map(e -> e.transport().toString())
                        .distinct()
                        .toList() + ", this node " + usableDevices());
    }

    private static Stream<QpEntry> entries(Endpoint theirs, OpenDevice device) {
        return theirs.entries().stream().filter(e -> kind(device) == e.transport() && e.rail() == device.rail());
    }

    private static Optional<QpEntry> entry(Endpoint theirs, OpenDevice device, int shard) {
        return entries(theirs, device).filter(e -> e.shard() == shard).findFirst();
    }

    /** How many queue pairs a link with the peer takes: one for each shard of the node that has more of them. */
    private int needed(Endpoint theirs, OpenDevice device) {
        int offered = (int) entries(theirs, device).count();
        if (offered > LinkOptions.MAX_SHARDS) {
            throw new VerbsException("peer %s offers %d queue pairs on %s; a node has %d shards at most"
                    .formatted(peer, offered, device, LinkOptions.MAX_SHARDS));
        }
        return Math.max(shards.size(), offered);
    }

    /** What the handshake needs to know of the peer's offer. */
    Optional<Theirs> theirs(Endpoint offer) {
        int shardsServed =
                1 + offer.entries().stream().mapToInt(QpEntry::shard).max().orElse(-1);
        return offer.attempt()
                .map(attempt -> new Theirs(
                        attempt.value(),
                        offer.answers().map(a -> OptionalLong.of(a.value())).orElse(OptionalLong.empty()),
                        shardsServed >= shards.size()));
    }

    static TransportKind kind(OpenDevice device) {
        return device.transport() == Transport.RDMA ? TransportKind.RDMA : TransportKind.TCP;
    }

    private void connect(Endpoint theirs, OpenDevice device) {
        transportInUse = device.transport().word();
        for (LinkQueuePair one : queuePairs) {
            QpEntry entry = entry(theirs, device, one.shard())
                    .orElseThrow(() -> new VerbsException(
                            "peer %s offers no queue pair %d on %s; one for each shard of both is needed"
                                    .formatted(peer, one.shard(), device)));
            one.connect(entry);
        }
    }

    private List<QpEntry> entries() {
        return queuePairs.stream().map(LinkQueuePair::toEntry).toList();
    }

    /** Moves the connected queue pairs of this node's shards to RTS and hands them to the shards, which read the peer's header next. */
    void finish(PeerView view) {
        long attempt = ((Mine.Connected) mine).attempt();
        List<LinkQueuePair> own =
                queuePairs.stream().filter(one -> one.shard() < shards.size()).toList();
        for (LinkQueuePair one : own) {
            one.queuePair().modifyToRts();
        }
        for (LinkQueuePair one : own) {
            var memory = view.memory(kind(one.device()), one.device().rail())
                    .orElseThrow(() -> new VerbsException("peer " + peer + " has not published its memory"));
            shards.get(one.shard())
                    .submit(new ShardCommand.Attach(
                            links.get(one.shard()), one.queuePair(), one.rail(), peerIncarnation, memory, attempt));
            attached++;
        }
    }

    /** Takes note of what a shard said. Returns whether it changed whether the link is up. */
    boolean take(ShardNotice notice) {
        boolean wasUp = isUp();
        switch (notice) {
            case ShardNotice.Up ignored -> {
                up = ++upShards == shards.size();
                if (up) {
                    failures = 0;
                    log.info("link to {} is up over {}", peer, transportInUse);
                }
            }
            case ShardNotice.Released(PeerLink link, long attempt, QueuePair queuePair, String reason) -> {
                queuePairs.removeIf(one -> one.queuePair().equals(queuePair));
                attached--;
                if (!(mine instanceof Mine.Leaving)) {
                    log.warn("link to {} failed over {}: {}", peer, transportInUse, reason);
                    fail(reason);
                }
                isDown();
                giveUp(reason);
            }
        }
        return wasUp != isUp();
    }

    private void fail(String reason) {
        lastFailure = reason;
        long pause = options.firstBackoff().toNanos() << Math.min(failures++, 16);
        notBefore = System.nanoTime() + Math.min(pause, options.longestBackoff().toNanos());
        if (transportInUse.equals(Transport.RDMA.word()) && transports.hasFallback()) {
            rdmaPausedUntil = System.nanoTime() + options.rdmaPause().toNanos();
        }
    }

    /** Gives up what there is: destroys queue pairs that no shard has, and asks the shards for the others. */
    void giveUp(String reason) {
        Mine was = mine;
        if (attached > 0 && !(was instanceof Mine.Leaving)) {
            long attempt = ((Mine.Connected) was).attempt();
            mine = new Mine.Leaving();
            for (int shard = 0; shard < shards.size(); shard++) {
                shards.get(shard).submit(new ShardCommand.Detach(links.get(shard), attempt, reason));
            }
        }
        if (attached == 0) {
            close(List.copyOf(queuePairs));
            mine = new Mine.Nothing();
            transportInUse = "";
        }
    }

    /** As {@link #giveUp}, because something went wrong: pauses before the next try. */
    void failed(String reason) {
        log.warn("link to {} cannot be made: {}", peer, reason);
        fail(reason);
        giveUp(reason);
    }

    private void close(List<LinkQueuePair> some) {
        for (LinkQueuePair one : some) {
            queuePairs.remove(one);
            try {
                one.queuePair().close();
            } catch (VerbsException e) {
                log.warn("{}", e.getMessage());
            }
        }
    }

    /** Whether there are queue pairs with an incarnation of the peer. */
    boolean hasQueuePairs(long incarnation) {
        return !queuePairs.isEmpty() && peerIncarnation == incarnation;
    }

    /** Whether a queue pair is on {@code device}. */
    boolean uses(OpenDevice device) {
        return queuePairs.stream().anyMatch(q -> q.device().equals(device));
    }

    /** Whether a queue pair is on a device that can no longer carry it. */
    boolean isStranded() {
        return queuePairs.stream().anyMatch(q -> !q.device().isUsable());
    }

    /** Tells the shards which incarnation of the peer is alive; 0 for none. */
    void knownIncarnation(long incarnation) {
        for (int shard = 0; shard < shards.size(); shard++) {
            shards.get(shard).submit(new ShardCommand.SetIncarnation(links.get(shard), incarnation));
        }
    }

    LinkStatus status() {
        String state = switch (mine) {
            case Mine.Nothing() -> "down";
            case Mine.Offered(long attempt) -> "offered";
            case Mine.Connected(long attempt, long to) -> isUp() ? "up" : "connecting";
            case Mine.Leaving() -> "leaving";
        };
        List<LinkStatus.OfShard> each = new ArrayList<>();
        for (PeerLink link : links) {
            each.add(new LinkStatus.OfShard(each.size(), link.phase().name().toLowerCase(Locale.ROOT)));
        }
        return new LinkStatus(peer, state, transportInUse, links.getFirst().transport(), lastFailure, each);
    }
}
