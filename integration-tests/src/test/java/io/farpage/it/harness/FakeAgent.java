package io.farpage.it.harness;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.grant.GrantContent;
import io.farpage.agent.control.grant.GrantException;
import io.farpage.agent.control.grant.GrantParties;
import io.farpage.agent.control.grant.GrantSeal;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A node made by hand in the test's own JVM: it registers, answers the offers of one peer, and serves memory whose
 * header page the test writes. What it says in that page may differ from what it told the coordinator.
 */
public final class FakeAgent implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int EXPORTED = 16 * PAGE;
    private static final String DEVICE = "soft0";
    private static final long LOOK_MILLIS = 20;

    private final CoordinatorClient coordinator;
    private final String node;
    private final String peer;
    private final LinkKeys keys;
    private final Incarnation incarnation = new Incarnation(new Random().nextLong() | 1);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment header = arena.allocate(PAGE, PAGE);
    private final MemorySegment exported = arena.allocate(EXPORTED, PAGE);
    private final Device device = new SoftProvider(SoftOptions.DEFAULT).open(DEVICE);
    private final ProtectionDomain domain = device.allocateProtectionDomain();
    private final MemoryRegion headerRegion = domain.registerMemory(header, Set.of(AccessFlag.REMOTE_READ));
    private final MemoryRegion exportedRegion = domain.registerMemory(exported, Set.of(AccessFlag.REMOTE_READ));
    private final CompletionQueue completions = device.createCompletionQueue(1 << 14);
    private final Deque<QueuePair> queuePairs = new ArrayDeque<>();
    private final Thread thread = new Thread(this::run, "fake agent");
    private volatile boolean stopping;

    /** Makes a node; {@link #start} registers it. */
    public FakeAgent(CoordinatorClient coordinator, String node, String peer) {
        this.coordinator = coordinator;
        this.node = node;
        this.peer = peer;
        this.keys = LinkKeys.generate(node, incarnation, Optional.empty());
    }

    /** What it tells the coordinator. */
    public long incarnation() {
        return incarnation.value();
    }

    /** The page that peers read to see who it is. */
    public MemorySegment header() {
        return header;
    }

    /** The memory that it exports. */
    public MemorySegment exported() {
        return exported;
    }

    /** Registers, and answers the peer from now on. */
    public void start() throws CoordinatorException {
        Registration said = new Registration(
                incarnation,
                "fake",
                "127.0.0.1:1",
                1,
                EXPORTED,
                List.of(new DeviceInfo(
                        DEVICE, TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(EXPORTED, PAGE, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.of(keys.published()),
                Optional.of(NodeStatus.ACTIVE),
                Optional.empty(),
                Optional.empty());
        coordinator.register(node, said);
        thread.start();
    }

    /** Grants every node that is attached to a space on this one all that it exports. */
    private void grant() throws CoordinatorException {
        Hosted hosted = coordinator.hosted(node);
        for (HostedAttachment attachment : hosted.attachments()) {
            if (attachment.granted() == 0) {
                GrantContent content = new GrantContent(List.of(new GrantContent.Range(
                        0,
                        EXPORTED,
                        new RemoteAddress(exportedRegion.address()),
                        List.of(new RegionKey(DEVICE, Integer.toUnsignedLong(exportedRegion.rkey()))))));
                GrantParties parties = new GrantParties(
                        attachment.space(),
                        node,
                        incarnation,
                        attachment.node(),
                        attachment.incarnation(),
                        attachment.id(),
                        Optional.empty());
                coordinator.publishGrant(
                        node,
                        attachment.space(),
                        attachment.node(),
                        seal(
                                parties,
                                content,
                                coordinator.node(attachment.node()).orElseThrow()));
            }
        }
    }

    private GrantRequest seal(GrantParties parties, GrantContent content, Node grantee) {
        try {
            return new GrantSeal(keys).seal(parties, content, 1, grantee);
        } catch (GrantException e) {
            throw new IllegalStateException(e);
        }
    }

    private void run() {
        Optional<Attempt> answered = Optional.empty();
        while (!stopping) {
            try {
                coordinator.heartbeat(node, incarnation);
                grant();
                Optional<Endpoint> offer = coordinator
                        .endpoint(/* node= */ peer, /* peer= */ node)
                        .filter(o -> o.answers().isEmpty());
                if (offer.isPresent() && !offer.get().attempt().equals(answered)) {
                    answer(offer.get());
                    answered = offer.get().attempt();
                }
                TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
            } catch (CoordinatorException e) {
                // Tried again.
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void answer(Endpoint offer) throws CoordinatorException {
        QueuePair queuePair = domain.createQueuePair(
                completions,
                completions,
                new QpOptions(
                        new QpOptions.Sizes(16, 16, 1, 0, 16),
                        QpOptions.DEFAULT.retries(),
                        QpOptions.DEFAULT.path(),
                        Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)));
        queuePairs.add(queuePair);
        QpEntry theirs = offer.entries().getFirst();
        Gid gid = theirs.gid().orElse(Gid.ZERO);
        queuePair.modifyToInit();
        queuePair.requireProof(keys.with(coordinator.node(peer).orElseThrow()));
        queuePair.modifyToRtr(new QpEndpoint(
                theirs.qpn(), theirs.lid(), new io.farpage.verbs.Gid(gid.high(), gid.low()), theirs.psn()));
        queuePair.modifyToRts();
        QpEndpoint own = queuePair.endpoint();
        QpEntry entry = QpEntry.tcp(
                0,
                0,
                own.qpn(),
                new Gid(own.gid().high(), own.gid().low()),
                own.psn(),
                theirs.mtu(),
                "127.0.0.1",
                own.lid(),
                new HeaderPage(new RemoteAddress(headerRegion.address()), Integer.toUnsignedLong(headerRegion.rkey())));
        coordinator.publishEndpoint(
                node,
                peer,
                new EndpointRequest(
                        incarnation,
                        offer.incarnation(),
                        Optional.of(new Attempt(new Random().nextLong())),
                        offer.attempt(),
                        List.of(entry),
                        Optional.empty()));
    }

    @Override
    public void close() {
        stopping = true;
        thread.interrupt();
        try {
            thread.join();
            coordinator.deregister(node, incarnation, true);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (CoordinatorException e) {
            throw new IllegalStateException(e);
        } finally {
            queuePairs.forEach(QueuePair::close);
            completions.close();
            headerRegion.close();
            exportedRegion.close();
            domain.close();
            device.close();
            arena.close();
        }
    }
}
