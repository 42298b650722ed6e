package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.grant.GrantContent;
import io.farpage.agent.control.grant.GrantException;
import io.farpage.agent.control.grant.GrantParties;
import io.farpage.agent.control.grant.GrantSeal;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.header.PoolHeader;
import io.farpage.tls.Tls;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An attached node made by hand in the test's own JVM: it registers, attaches, opens what homes grant it, links with a
 * home, and then asks for whatever the test wants, with any address and key. The test's thread uses it.
 */
public final class ForeignNode implements AutoCloseable {
    /** Bytes of {@link #memory}. */
    public static final int BYTES = 64 << 10;

    private static final int PAGE = 4096;
    private static final String DEVICE = "soft0";
    private static final long BEAT_MILLIS = 500;

    private final CoordinatorClient coordinator;
    private final String node;
    private final LinkKeys keys;
    private final Random random = new Random();
    private final Incarnation incarnation = new Incarnation(random.nextLong() | 1);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment header = arena.allocate(PAGE, PAGE);
    private final MemorySegment memory = arena.allocate(BYTES, PAGE);
    private final Device device = new SoftProvider(SoftOptions.DEFAULT).open(DEVICE);
    private final ProtectionDomain domain = device.allocateProtectionDomain();
    private final MemoryRegion headerRegion = domain.registerMemory(header, Set.of(AccessFlag.REMOTE_READ));
    private final MemoryRegion memoryRegion = domain.registerMemory(memory, Set.of(AccessFlag.LOCAL_WRITE));
    private final CompletionQueue completions = device.createCompletionQueue(1 << 10);
    private final Thread thread = new Thread(this::beat, "foreign node");
    private @Nullable QueuePair queuePair;
    private volatile boolean stopping;

    /** Makes a node and registers it. */
    public ForeignNode(CoordinatorClient coordinator, String node) throws CoordinatorException {
        this(coordinator, node, Optional.empty());
    }

    /**
     * Makes a node and registers it.
     *
     * @param tls the node's certificate, which signs its key; empty in a cluster without certificates
     */
    public ForeignNode(CoordinatorClient coordinator, String node, Optional<Tls> tls) throws CoordinatorException {
        this.coordinator = coordinator;
        this.node = node;
        this.keys = LinkKeys.generate(node, incarnation, tls);
        new PoolHeader(node, incarnation.value(), PAGE, 2 << 20).writeTo(header);
        Registration said = new Registration(
                incarnation,
                "foreign",
                "127.0.0.1:1",
                1,
                1 << 20,
                List.of(new DeviceInfo(
                        DEVICE, TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(0, PAGE, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.of(keys.published()),
                Optional.of(NodeStatus.ACTIVE),
                Optional.empty(),
                Optional.empty());
        coordinator.register(node, said);
        thread.start();
    }

    private void beat() {
        while (!stopping) {
            try {
                coordinator.heartbeat(node, incarnation);
                TimeUnit.MILLISECONDS.sleep(BEAT_MILLIS);
            } catch (CoordinatorException e) {
                // Tried again.
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Where READs put what they read, and WRITEs take what they write. */
    public MemorySegment memory() {
        return memory;
    }

    /** What it tells the coordinator. */
    public Incarnation incarnation() {
        return incarnation;
    }

    /** Attaches to a space, beside others. */
    public void attach(String space) throws CoordinatorException {
        coordinator.attach(space, node, new AttachRequest(incarnation, AttachMode.SHARED));
    }

    /** Detaches from a space. */
    public void detach(String space) throws CoordinatorException {
        coordinator.detach(space, node, incarnation, Detachment.PLAIN);
    }

    /** What a home has granted to this node of a space, sealed. */
    public Optional<Grant> grant(String home, long space) throws CoordinatorException {
        return coordinator.attached(node, 0).grants().stream()
                .filter(each -> each.home().equals(home) && each.space() == space)
                .findFirst();
    }

    /** Waits for what a home grants of a space, and opens it. */
    public GrantContent.Range awaitGrant(String home, long space) throws CoordinatorException, GrantException {
        await("a grant of " + home, Deadlines.LONG)
                .until(() -> grant(home, space).isPresent());
        Grant grant = grant(home, space).orElseThrow();
        Node homeNode = coordinator.node(home).orElseThrow();
        GrantParties parties = new GrantParties(
                space, home, homeNode.incarnation(), node, incarnation, grant.attachment(), Optional.empty());
        GrantContent content = new GrantSeal(keys).open(grant, parties, homeNode);
        if (content.ranges().size() != 1) {
            throw new IllegalStateException(
                    "the space lies in " + content.ranges().size() + " ranges");
        }
        return content.ranges().getFirst();
    }

    /** Links with a home, or links anew. */
    public void link(String home) throws CoordinatorException {
        link(home, OptionalInt.empty());
    }

    /**
     * Links with a home.
     *
     * @param port of this machine that is connected to instead of the home's
     */
    public void link(String home, OptionalInt port) throws CoordinatorException {
        QueuePair fresh = linkLater(home);
        Attempt attempt = offer(fresh, home);
        await("the answer of " + home, Deadlines.LONG)
                .until(() -> answer(home)
                        .filter(e -> e.answers().equals(Optional.of(attempt)))
                        .isPresent());
        QpEntry theirs = answer(home).orElseThrow().entries().getFirst();
        Gid gid = theirs.gid().orElse(Gid.ZERO);
        fresh.modifyToRtr(new QpEndpoint(
                theirs.qpn(),
                port.orElse(theirs.lid()),
                new io.farpage.verbs.Gid(gid.high(), gid.low()),
                theirs.psn()));
        fresh.modifyToRts();
    }

    /** Offers a home a link that the home must refuse. */
    public void offer(String home) throws CoordinatorException {
        var _ = offer(linkLater(home), home);
    }

    private QueuePair linkLater(String home) throws CoordinatorException {
        if (queuePair != null) {
            queuePair.close();
        }
        QueuePair fresh = domain.createQueuePair(
                completions,
                completions,
                new QpOptions(
                        new QpOptions.Sizes(64, 16, 1, 0, 16),
                        QpOptions.DEFAULT.retries(),
                        QpOptions.DEFAULT.path(),
                        Set.of(AccessFlag.REMOTE_READ)));
        queuePair = fresh;
        fresh.modifyToInit();
        Node homeNode = coordinator.node(home).orElseThrow();
        fresh.requireProof(keys.with(homeNode));
        return fresh;
    }

    private Attempt offer(QueuePair fresh, String home) throws CoordinatorException {
        Node homeNode = coordinator.node(home).orElseThrow();
        QpEndpoint own = fresh.endpoint();
        Attempt attempt = new Attempt(random.nextLong());
        coordinator.publishEndpoint(
                node,
                home,
                new EndpointRequest(
                        incarnation,
                        homeNode.incarnation(),
                        Optional.of(attempt),
                        Optional.empty(),
                        List.of(QpEntry.tcp(
                                0,
                                0,
                                own.qpn(),
                                new Gid(own.gid().high(), own.gid().low()),
                                own.psn(),
                                4096,
                                "127.0.0.1",
                                own.lid(),
                                new HeaderPage(
                                        new RemoteAddress(headerRegion.address()),
                                        Integer.toUnsignedLong(headerRegion.rkey())))),
                        Optional.empty()));
        return attempt;
    }

    private Optional<Endpoint> answer(String home) throws CoordinatorException {
        return coordinator.endpoint(/* node= */ home, /* peer= */ node);
    }

    /** Reads into the beginning of {@link #memory}. */
    public WcStatus read(long address, int rkey, int length) {
        QueuePair over = linked();
        over.prepareRead(1, memoryRegion.address(), length, memoryRegion.lkey(), address, rkey, SendFlag.SIGNALED);
        over.postSend();
        return completion();
    }

    /** Writes from the beginning of {@link #memory}. */
    public WcStatus write(long address, int rkey, int length) {
        QueuePair over = linked();
        over.prepareWrite(1, memoryRegion.address(), length, memoryRegion.lkey(), address, rkey, SendFlag.SIGNALED);
        over.postSend();
        return completion();
    }

    private QueuePair linked() {
        if (queuePair == null) {
            throw new IllegalStateException("not linked");
        }
        return queuePair;
    }

    private WcStatus completion() {
        WorkCompletion[] one = WorkCompletion.array(1);
        Deadlines.Wait wait = Deadlines.begin("a completion", Deadlines.LONG);
        while (completions.poll(one) == 0) {
            wait.check();
            Thread.onSpinWait();
        }
        return one[0].status();
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
            if (queuePair != null) {
                queuePair.close();
            }
            completions.close();
            headerRegion.close();
            memoryRegion.close();
            domain.close();
            device.close();
            arena.close();
        }
    }
}
