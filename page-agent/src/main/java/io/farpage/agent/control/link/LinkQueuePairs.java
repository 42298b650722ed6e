package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Theirs;
import io.farpage.agent.control.link.RailPairs.Pair;
import io.farpage.agent.control.link.Wiring.Wire;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Fabric;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
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
    private final RailFailures failures;
    private final Wiring wiring;
    private final List<LinkShard> shards;
    /** What the RDMA devices of the attempt may reach, as it was when the attempt began. */
    private final Map<OpenDevice, Fabric> fabrics = new HashMap<>();

    private final List<LinkQueuePair> queuePairs = new ArrayList<>();
    /** Queue pairs that no shard has and that are being destroyed. */
    private final Set<LinkQueuePair> ending = new HashSet<>();

    private volatile Mine mine = new Mine.Nothing();
    private volatile Optional<TransportKind> transportInUse = Optional.empty();
    private volatile boolean up;
    private long attempt;
    private long connectedAt;
    private Optional<Attempt> answers = Optional.empty();
    private OptionalLong lastUsed = OptionalLong.empty();
    private Optional<String> rdmaFailure = Optional.empty();
    private Optional<LinkSecret> secret = Optional.empty();
    private int installed;
    private int verifiedShards;
    /** Whether all shards have verified the peer in this attempt. */
    private boolean proved;

    /** @param failures over pairs of devices, which the sets of a session share */
    LinkQueuePairs(String peer, LinkContext context, RailFailures failures) {
        this.peer = peer;
        this.context = context;
        this.failures = failures;
        this.wiring = new Wiring(peer, context);
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
        return queuePairs.stream()
                .map(one -> one.toEntry(Optional.ofNullable(fabrics.get(one.device()))))
                .toList();
    }

    /**
     * Creates queue pairs on every device and moves them to INIT.
     *
     * @param theirs the peer's latest offer, fresh or not: it tells how many queue pairs the peer needs
     */
    void offer(long newAttempt, LinkDevices devices, List<QpEntry> theirs) {
        List<OpenDevice> usable = begin(newAttempt, devices);
        int count = wiring.needed(theirs);
        for (OpenDevice device : usable) {
            if (Wiring.areWithoutFabrics(theirs) && Wiring.mayNotReachSameRail(fabrics, device)) {
                continue;
            }
            for (int shard = 0; shard < count && tryCreate(device, shard); shard++) {}
        }
        if (queuePairs.isEmpty()) {
            throw noneCreated(devices.mine());
        }
        mine = new Mine.Offered(attempt);
    }

    /**
     * Creates queue pairs on the best devices that may reach the peer's and that create them, and moves them to RTR;
     * {@link #install} moves them to RTS.
     */
    void answer(long newAttempt, LinkDevices devices, long theirAttempt, List<QpEntry> theirs) {
        connect(theirAttempt, createWired(begin(newAttempt, devices), theirs));
    }

    /** Moves the best of the queue pairs on offer to RTR, and destroys the others. */
    void connectOffered(LinkDevices devices, long theirAttempt, List<QpEntry> theirs) {
        rdmaFailure = Optional.empty();
        List<OpenDevice> offered = devices.mine().stream()
                .filter(device ->
                        queuePairs.stream().anyMatch(one -> one.device().equals(device)))
                .toList();
        connect(theirAttempt, createWired(offered, theirs));
    }

    /** Queue pairs that are created from now on require the peer to prove that it holds {@code shared}. */
    void secure(LinkSecret shared) {
        secret = Optional.of(shared);
    }

    /** Begins an attempt. Returns the devices that answer. */
    private List<OpenDevice> begin(long newAttempt, LinkDevices devices) {
        attempt = newAttempt;
        rdmaFailure = Optional.empty();
        answers = Optional.empty();
        installed = 0;
        proved = false;
        markDown();
        fabrics.clear();
        List<OpenDevice> answering =
                devices.mine().stream().filter(this::readFabric).toList();
        failures.addTo(fabrics, devices, context.now());
        return answering;
    }

    private boolean readFabric(OpenDevice device) {
        try {
            if (device.transport() == TransportKind.RDMA) {
                fabrics.put(device, device.fabric());
            }
            return true;
        } catch (VerbsException e) {
            doesWithout(device, e);
            return false;
        }
    }

    private void doesWithout(OpenDevice device, VerbsException why) {
        log.warn("link to {} does without {}: {}", peer, device, why.getMessage());
        if (device.transport() == TransportKind.RDMA) {
            rdmaFailure = Optional.of(String.valueOf(why.getMessage()));
        }
    }

    private void markDown() {
        verifiedShards = 0;
        up = false;
    }

    /** Why queue pairs of the latest step could not be created over RDMA; empty if they could. */
    Optional<String> rdmaFailure() {
        return rdmaFailure;
    }

    /** Creates a queue pair. A device that fails is left out, so that another one carries the link. */
    private boolean tryCreate(OpenDevice device, int shard) {
        try {
            create(device, shard);
            return true;
        } catch (VerbsException e) {
            doesWithout(device, e);
            destroyOwn(
                    queuePairs.stream().filter(q -> q.device().equals(device)).toList());
            return false;
        }
    }

    /**
     * Creates the queue pairs that are lacking for the best wires to the peer's, and destroys the others.
     *
     * @return the wires, by the number of the shard
     */
    private List<Wire> createWired(List<OpenDevice> devices, List<QpEntry> theirs) {
        List<OpenDevice> left = new ArrayList<>(devices);
        List<OpenDevice> failed = new ArrayList<>();
        while (true) {
            List<Wire> wires = choose(left, failed, theirs);
            Optional<OpenDevice> refusing = firstWithoutQueuePair(wires);
            if (refusing.isEmpty()) {
                destroyOwn(queuePairs.stream()
                        .filter(one -> one.shard() >= wires.size()
                                || !wires.get(one.shard()).device().equals(one.device()))
                        .toList());
                return wires;
            }
            left.remove(refusing.get());
            failed.add(refusing.get());
        }
    }

    private List<Wire> choose(List<OpenDevice> left, List<OpenDevice> failed, List<QpEntry> theirs) {
        try {
            return wiring.choose(left, fabrics, theirs);
        } catch (VerbsException e) {
            throw failed.isEmpty() ? e : noneCreated(failed);
        }
    }

    /** Creates the queue pairs that are lacking; returns the first device that refuses one. */
    private Optional<OpenDevice> firstWithoutQueuePair(List<Wire> wires) {
        for (int shard = 0; shard < wires.size(); shard++) {
            OpenDevice device = wires.get(shard).device();
            if (find(device, shard).isEmpty() && !tryCreate(device, shard)) {
                return Optional.of(device);
            }
        }
        return Optional.empty();
    }

    private Optional<LinkQueuePair> find(OpenDevice device, int shard) {
        return queuePairs.stream()
                .filter(one -> one.device().equals(device) && one.shard() == shard)
                .findFirst();
    }

    private VerbsException noneCreated(List<OpenDevice> devices) {
        return new VerbsException("no queue pair could be created on any of " + devices
                + rdmaFailure.map(": "::concat).orElse(""));
    }

    /**
     * Creates the queue pair of a shard. Queue pairs beyond the number of this node's shards answer requests of shards
     * that only the peer has, and post none.
     */
    private void create(OpenDevice device, int shard) {
        Rail rail = shards.get(shard % shards.size()).rails().on(device);
        QpOptions options = context.options().queuePairs();
        MessageMemory messages = shard < shards.size() ? messagesOf(shard) : MessageMemory.none();
        QpOptions wanted = shard < shards.size()
                ? messages.sizeFor(options)
                : options.withSizes(options.sizes().withQueues(1, 1));
        QueuePair queuePair = device.domain().createQueuePair(rail.completionQueue(), rail.completionQueue(), wanted);
        LinkQueuePair created = new LinkQueuePair(device, shard, rail, queuePair, Optional.empty(), Optional.empty());
        queuePairs.add(created);
        queuePair.modifyToInit();
        secret.ifPresent(queuePair::requireProof);
        queuePairs.set(queuePairs.size() - 1, created.withHello(messages.post(queuePair, rail)));
    }

    private MessageMemory messagesOf(int shard) {
        return shards.get(shard).loop().shard().messageMemory();
    }

    /** A queue pair is destroyed, and its receive with it. */
    private void onDestroyed(LinkQueuePair one) {
        one.hello().ifPresent(hello -> messagesOf(one.shard()).release(hello));
    }

    /** An offer of the peer's as the handshake sees it. */
    Theirs theirs(long theirAttempt, Optional<Attempt> theirAnswers, List<QpEntry> theirs) {
        int served = 1 + theirs.stream().mapToInt(QpEntry::shard).max().orElse(-1);
        return new Theirs(
                theirAttempt,
                theirAnswers.map(a -> OptionalLong.of(a.value())).orElse(OptionalLong.empty()),
                served >= shards.size());
    }

    private void connect(long theirAttempt, List<Wire> wires) {
        // Used even if it cannot be connected to: it would fail in the same way again.
        lastUsed = OptionalLong.of(theirAttempt);
        transportInUse = wires.stream().findFirst().map(wire -> wire.device().transport());
        queuePairs.replaceAll(one -> connect(one, wires.get(one.shard()).theirs()));
        mine = new Mine.Connected(attempt, theirAttempt);
        connectedAt = context.now();
        answers = Optional.of(new Attempt(theirAttempt));
    }

    private LinkQueuePair connect(LinkQueuePair one, QpEntry theirs) {
        try {
            return one.connect(theirs);
        } catch (VerbsException e) {
            avoid(one.device(), new Pair(one.device().rail(), theirs.rail()));
            throw e;
        }
    }

    /**
     * Whether the queue pairs are connected and {@link #install} may follow. The peer's must be connected, too, if they
     * are RDMA queue pairs, which drop what arrives before; those over TCP let it wait.
     *
     * @param theirs what the peer has published
     */
    boolean isInstallable(Optional<Theirs> theirs) {
        boolean isPeerConnected =
                theirs.filter(t -> t.answers().equals(OptionalLong.of(attempt))).isPresent();
        return isUninstalled() && (!isOver(TransportKind.RDMA) || isPeerConnected);
    }

    /** Whether the peer has not connected its queue pairs within a time since this node has. */
    boolean isPeerLate(Duration limit) {
        return isUninstalled() && context.now() - connectedAt > limit.toNanos();
    }

    private boolean isUninstalled() {
        return isConnected() && installed == 0;
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
            PeerMemory memory = one.peer()
                    .flatMap(theirs -> view.memory(theirs, grants))
                    .orElseThrow(() ->
                            new VerbsException("peer %s announces no device like %s".formatted(peer, one.device())));
            submit(
                    one.shard(),
                    new ShardCommand.Install(
                            links.get(one.shard()),
                            new Connection(
                                    one.queuePair(),
                                    one.rail(),
                                    view.incarnation(),
                                    memory,
                                    attempt,
                                    one.agreedHello())));
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
        proved |= up;
        return up;
    }

    /** A shard has released a queue pair: destroys it, and then tells the shard. */
    void released(ShardNotice.Released notice) {
        markDown();
        for (LinkQueuePair one : List.copyOf(queuePairs)) {
            if (one.queuePair().equals(notice.queuePair())) {
                if (!(mine instanceof Mine.Leaving)) {
                    avoid(one);
                }
                context.destroyer().destroy(one.queuePair(), "link to " + peer, () -> {
                    submit(one.shard(), new ShardCommand.Destroyed(notice.link(), notice.attempt()));
                    onDestroyed(one);
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
                onDestroyed(one);
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
                    onDestroyed(one);
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

    /** The peer's rails that queue pairs are connected to over RDMA; empty if they are not. */
    Set<Integer> peerRails() {
        return isConnected() && isOver(TransportKind.RDMA)
                ? queuePairs.stream()
                        .flatMap(one -> one.pair().stream())
                        .map(Pair::theirs)
                        .collect(Collectors.toSet())
                : Set.of();
    }

    /** Attempts after this one avoid the devices of a queue pair that has failed before the link was verified. */
    void avoid(OpenDevice device, int qpn) {
        queuePairs.stream()
                .filter(q ->
                        q.device().equals(device) && q.queuePair().endpoint().qpn() == qpn)
                .forEach(this::avoid);
    }

    private void avoid(LinkQueuePair failed) {
        // Devices that have reached each other may do so again: their link has rather failed for another reason.
        if (!proved) {
            failed.pair().ifPresent(pair -> avoid(failed.device(), pair));
        }
    }

    private void avoid(OpenDevice device, Pair pair) {
        if (device.transport() == TransportKind.RDMA) {
            failures.failed(pair, context.now());
        }
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
