package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Theirs;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue pairs of one attempt at a link, from RESET until they are destroyed: one for each shard of the node that
 * has more. A session has two sets, one for the link and one for the trial of a better transport beside it. Used by the
 * links' thread, except for the state.
 */
final class LinkQueuePairs {
    private static final Logger log = LoggerFactory.getLogger(LinkQueuePairs.class);

    private final String peer;
    private final LinkContext context;
    private final List<LinkShard> shards;

    private final List<LinkQueuePair> queuePairs = new ArrayList<>();
    /** Queue pairs that no shard has and that are being destroyed. */
    private final Set<LinkQueuePair> ending = new HashSet<>();

    private volatile Mine mine = new Mine.Nothing();
    private volatile Optional<TransportKind> transportInUse = Optional.empty();
    private volatile boolean up;
    private long attempt;
    private Optional<Attempt> answers = Optional.empty();
    private List<QpEntry> connectedTo = List.of();
    private OptionalLong lastUsed = OptionalLong.empty();
    private Optional<String> rdmaFailure = Optional.empty();
    private Optional<LinkSecret> secret = Optional.empty();
    private int installed;
    private int verifiedShards;

    LinkQueuePairs(String peer, LinkContext context) {
        this.peer = peer;
        this.context = context;
        this.shards = context.shards();
    }

    Mine mine() {
        return mine;
    }

    boolean isNothing() {
        return mine instanceof Mine.Nothing;
    }

    boolean isConnected() {
        return mine instanceof Mine.Connected;
    }

    /** Whether there are queue pairs that the peer may connect to or is connected to. */
    boolean isOfferedOrConnected() {
        return mine instanceof Mine.Offered || mine instanceof Mine.Connected;
    }

    /** The peer's attempt that these queue pairs are connected to. */
    boolean isConnectedTo(long theirs) {
        return mine instanceof Mine.Connected connected && connected.to() == theirs;
    }

    boolean isUp() {
        return up;
    }

    /** Its name; empty while there is no connected queue pair. */
    String transportInUse() {
        return transportInUse.map(TransportKind::toString).orElse("");
    }

    /** Whether the queue pairs are connected over a transport. */
    boolean isOver(TransportKind transport) {
        return transportInUse.filter(transport::equals).isPresent();
    }

    long attempt() {
        return attempt;
    }

    Optional<Attempt> answers() {
        return answers;
    }

    OptionalLong lastUsed() {
        return lastUsed;
    }

    List<QpEntry> entries() {
        return queuePairs.stream().map(LinkQueuePair::toEntry).toList();
    }

    /**
     * Creates queue pairs on every device and moves them to INIT.
     *
     * @param theirs the peer's latest offer, fresh or not: it tells how many queue pairs the peer needs
     */
    void offer(long newAttempt, List<OpenDevice> devices, List<QpEntry> theirs) {
        begin(newAttempt);
        for (OpenDevice device : devices) {
            tryCreate(device, needed(theirs, device));
        }
        if (queuePairs.isEmpty()) {
            throw noneCreated(devices);
        }
        mine = new Mine.Offered(attempt);
    }

    /**
     * Creates queue pairs on the first device that both nodes have and that creates them, and moves them to RTR;
     * {@link #install} moves them to RTS.
     */
    void answer(long newAttempt, List<OpenDevice> devices, long theirAttempt, List<QpEntry> theirs) {
        begin(newAttempt);
        connect(theirAttempt, theirs, createOnFirst(common(devices, theirs), theirs));
    }

    /** Moves the queue pairs on offer that are on the first device both have to RTR, and destroys the others. */
    void connectOffered(List<OpenDevice> devices, long theirAttempt, List<QpEntry> theirs) {
        rdmaFailure = Optional.empty();
        List<OpenDevice> offeredFirst = common(devices, theirs).stream()
                .sorted(Comparator.comparing(device -> count(device) == 0))
                .toList();
        OpenDevice device = createOnFirst(offeredFirst, theirs);
        destroyOwn(queuePairs.stream().filter(q -> !q.device().equals(device)).toList());
        connect(theirAttempt, theirs, device);
    }

    /** Queue pairs that are created from now on require the peer to prove that it holds {@code shared}. */
    void secure(LinkSecret shared) {
        secret = Optional.of(shared);
    }

    private void begin(long newAttempt) {
        attempt = newAttempt;
        rdmaFailure = Optional.empty();
        answers = Optional.empty();
        installed = 0;
        markDown();
    }

    private void markDown() {
        verifiedShards = 0;
        up = false;
    }

    /** Why queue pairs of the latest step could not be created over RDMA; empty if they could. */
    Optional<String> rdmaFailure() {
        return rdmaFailure;
    }

    /**
     * Creates the queue pairs that a device lacks. A device that fails is left out, so that another one carries the
     * link.
     */
    private boolean tryCreate(OpenDevice device, int count) {
        try {
            create(device, count(device), count);
            return true;
        } catch (VerbsException e) {
            log.warn("link to {} does without {}: {}", peer, device, e.getMessage());
            if (device.transport() == TransportKind.RDMA) {
                rdmaFailure = Optional.of(String.valueOf(e.getMessage()));
            }
            destroyOwn(
                    queuePairs.stream().filter(q -> q.device().equals(device)).toList());
            return false;
        }
    }

    private OpenDevice createOnFirst(List<OpenDevice> candidates, List<QpEntry> theirs) {
        return candidates.stream()
                .filter(device -> tryCreate(device, needed(theirs, device)))
                .findFirst()
                .orElseThrow(() -> noneCreated(candidates));
    }

    private VerbsException noneCreated(List<OpenDevice> devices) {
        return new VerbsException("no queue pair could be created on any of " + devices
                + rdmaFailure.map(": "::concat).orElse(""));
    }

    private int count(OpenDevice device) {
        return (int) queuePairs.stream().filter(q -> q.device().equals(device)).count();
    }

    /**
     * Creates queue pairs from the {@code from}th up to the {@code to}th. Queue pairs beyond the number of this node's
     * shards answer requests of shards that only the peer has, and post none.
     */
    private void create(OpenDevice device, int from, int to) {
        for (int shard = from; shard < to; shard++) {
            Rail rail = shards.get(shard % shards.size()).rails().on(device);
            QpOptions options = context.options().queuePairs();
            QpOptions wanted = shard < shards.size()
                    ? options
                    : options.withSizes(options.sizes().withQueues(1, 1));
            QueuePair queuePair =
                    device.domain().createQueuePair(rail.completionQueue(), rail.completionQueue(), wanted);
            queuePairs.add(new LinkQueuePair(device, shard, rail, queuePair));
            queuePair.modifyToInit();
            secret.ifPresent(queuePair::requireProof);
        }
    }

    /** The devices on which the peer has queue pairs, too. */
    private List<OpenDevice> common(List<OpenDevice> devices, List<QpEntry> theirs) {
        List<OpenDevice> common = devices.stream()
                .filter(device -> entry(theirs, device, 0).isPresent())
                .toList();
        if (!common.isEmpty()) {
            return common;
        }
        context.options().allowed().refuse(peer, theirs).ifPresent(reason -> {
            throw new VerbsException(reason);
        });
        throw new VerbsException("no transport in common with " + peer + ": it offers "
                + theirs.stream().map(e -> e.transport().toString()).distinct().toList() + ", this node " + devices);
    }

    /** The peer's queue pairs that this node may connect to on a device. */
    private Stream<QpEntry> entries(List<QpEntry> theirs, OpenDevice device) {
        return theirs.stream()
                .filter(e -> device.transport() == e.transport() && e.rail() == device.rail())
                .filter(context.options().allowed()::allows);
    }

    private Optional<QpEntry> entry(List<QpEntry> theirs, OpenDevice device, int shard) {
        return entries(theirs, device).filter(e -> e.shard() == shard).findFirst();
    }

    /** How many queue pairs a link with the peer takes: one for each shard of the node that has more of them. */
    private int needed(List<QpEntry> theirs, OpenDevice device) {
        int offered = (int) entries(theirs, device).count();
        if (offered > LinkOptions.MAX_SHARDS) {
            throw new VerbsException("peer %s offers %d queue pairs on %s; a node has %d shards at most"
                    .formatted(peer, offered, device, LinkOptions.MAX_SHARDS));
        }
        return Math.max(shards.size(), offered);
    }

    /** An offer of the peer's as the handshake sees it. */
    Theirs theirs(long theirAttempt, Optional<Attempt> theirAnswers, List<QpEntry> theirs) {
        int served = 1 + theirs.stream().mapToInt(QpEntry::shard).max().orElse(-1);
        return new Theirs(
                theirAttempt,
                theirAnswers.map(a -> OptionalLong.of(a.value())).orElse(OptionalLong.empty()),
                served >= shards.size());
    }

    private void connect(long theirAttempt, List<QpEntry> theirs, OpenDevice device) {
        transportInUse = Optional.of(device.transport());
        for (LinkQueuePair one : queuePairs) {
            one.connect(entry(theirs, device, one.shard())
                    .orElseThrow(() -> new VerbsException(
                            "peer %s offers no queue pair %d on %s; one for each shard of both is needed"
                                    .formatted(peer, one.shard(), device))));
        }
        mine = new Mine.Connected(attempt, theirAttempt);
        answers = Optional.of(new Attempt(theirAttempt));
        connectedTo = theirs;
        lastUsed = OptionalLong.of(theirAttempt);
    }

    /**
     * Moves the connected queue pairs of this node's shards to RTS and hands them to the shards, which read the peer's
     * header next.
     */
    void install(PeerView view, PeerGrants grants, List<PeerLink> links) {
        List<LinkQueuePair> own =
                queuePairs.stream().filter(one -> one.shard() < shards.size()).toList();
        for (LinkQueuePair one : own) {
            one.queuePair().modifyToRts();
        }
        for (LinkQueuePair one : own) {
            PeerMemory memory = entry(connectedTo, one.device(), one.shard())
                    .flatMap(theirs -> view.memory(theirs, grants))
                    .orElseThrow(() ->
                            new VerbsException("peer %s announces no device like %s".formatted(peer, one.device())));
            submit(
                    one.shard(),
                    new ShardCommand.Install(
                            links.get(one.shard()),
                            new Connection(one.queuePair(), one.rail(), view.incarnation(), memory, attempt)));
            installed++;
        }
    }

    private void submit(int shard, ShardCommand command) {
        shards.get(shard).loop().submit(command);
    }

    /** Whether a notice is about one of these queue pairs. */
    boolean owns(long noticed) {
        return noticed == attempt && !isNothing();
    }

    /** A shard has verified the peer over its queue pair. Returns whether all shards have. */
    boolean verified() {
        up = ++verifiedShards == shards.size();
        return up;
    }

    /** A shard has released a queue pair: destroys it, and then tells the shard. */
    void released(ShardNotice.Released notice) {
        markDown();
        for (LinkQueuePair one : List.copyOf(queuePairs)) {
            if (one.queuePair().equals(notice.queuePair())) {
                context.destroyer().destroy(one.queuePair(), "link to " + peer, () -> {
                    submit(one.shard(), new ShardCommand.Destroyed(notice.link(), notice.attempt()));
                    queuePairs.remove(one);
                    installed--;
                    completeRemoval();
                });
            }
        }
    }

    /**
     * Removes all queue pairs: destroys those that no shard has, and has the shards release the others.
     *
     * @param links the shards' links and trials; any of them may have the queue pair
     */
    void removeAll(String reason, List<List<PeerLink>> links) {
        if (mine instanceof Mine.Leaving) {
            return;
        }
        markDown();
        if (installed > 0) {
            for (int shard = 0; shard < shards.size(); shard++) {
                for (List<PeerLink> each : links) {
                    submit(shard, new ShardCommand.Remove(each.get(shard), attempt, reason));
                }
            }
            destroyOwn(queuePairs.stream()
                    .filter(one -> one.shard() >= shards.size())
                    .toList());
        } else {
            destroyOwn(List.copyOf(queuePairs));
        }
        mine = new Mine.Leaving();
        completeRemoval();
    }

    private void completeRemoval() {
        if (mine instanceof Mine.Leaving && queuePairs.isEmpty() && ending.isEmpty()) {
            mine = new Mine.Nothing();
            transportInUse = Optional.empty();
        }
    }

    private void destroyOwn(List<LinkQueuePair> some) {
        for (LinkQueuePair one : some) {
            queuePairs.remove(one);
            ending.add(one);
            context.destroyer().destroy(one.queuePair(), "link to " + peer, () -> {
                ending.remove(one);
                completeRemoval();
            });
        }
    }

    /** Destroys queue pairs that no shard has, at once. For the end, when the destroyer is no longer polled. */
    void close() {
        for (LinkQueuePair one : List.copyOf(queuePairs)) {
            if (installed == 0 || one.shard() >= shards.size()) {
                queuePairs.remove(one);
                try {
                    one.queuePair().close();
                } catch (RuntimeException e) {
                    log.error("link to {}: a queue pair could not be destroyed: {}", peer, e.toString());
                }
            }
        }
    }

    /** Whether a queue pair is on {@code device}. */
    boolean uses(OpenDevice device) {
        return Stream.concat(queuePairs.stream(), ending.stream())
                .anyMatch(q -> q.device().equals(device));
    }

    /** The device that the queue pairs are connected over; empty if they are not connected. */
    Optional<OpenDevice> device() {
        return isConnected() ? queuePairs.stream().map(LinkQueuePair::device).findFirst() : Optional.empty();
    }

    /** Whether a device's queue pair of some number is one of these, and not being destroyed yet. */
    boolean has(OpenDevice device, int qpn) {
        return isOfferedOrConnected()
                && queuePairs.stream()
                        .anyMatch(q -> q.device().equals(device)
                                && q.queuePair().endpoint().qpn() == qpn);
    }

    /** Whether a queue pair is on a device that can no longer carry it. */
    boolean isOnUnusableDevice() {
        return isOfferedOrConnected()
                && queuePairs.stream()
                        .anyMatch(q -> !q.device().isUsable() || q.rail().hasFailed());
    }
}
