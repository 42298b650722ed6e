package io.farpage.agent.control.link;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.Availability;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.WorkCompletion;
import io.farpage.verbs.soft.IdleStrategy;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Soft devices that pose as RDMA devices and can be made to fail in the ways that those do. */
final class FaultyProvider implements VerbsProvider {
    static final String DEVICE = "fake0";
    private static final int NOBODY_LISTENS = 1;
    private static final int EIO = 5;
    private static final int ENOMEM = 12;
    private static final int ETIMEDOUT = 110;

    private final Map<Integer, String> networks;
    private final List<Port> ports;
    private final SoftProvider soft = new SoftProvider(
            SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO)));

    /**
     * Whether queue pairs that are connected from now on cannot reach their peers, as where UDP port 4791 is blocked.
     */
    volatile boolean blocked;
    /** How many attempts to destroy a queue pair are still refused. */
    final AtomicInteger refusals = new AtomicInteger();
    /** Whether memory cannot be registered for peers to write. */
    volatile boolean exportsFail;
    /** Whether queue pairs cannot be created. */
    volatile boolean createsFail;
    /** Whether queue pairs cannot be connected, as where no route to the peer's address is known. */
    volatile boolean connectsFail;
    /** How many attempts to create a completion queue are still refused. */
    final AtomicInteger queueRefusals = new AtomicInteger();
    /** How many attempts to destroy a completion queue are still refused. */
    final AtomicInteger queueCloseRefusals = new AtomicInteger();
    /** Whether the next post fails. */
    volatile boolean postFails;
    /** Whether the next poll of a completion queue fails. */
    volatile boolean pollFails;
    /** When a queue pair was connected that cannot reach its peer (nanoTime). */
    final List<Long> blockedAt = new CopyOnWriteArrayList<>();

    /** Completion queues that are not destroyed. */
    final AtomicInteger openQueues = new AtomicInteger();

    private final List<QueuePair> made = new CopyOnWriteArrayList<>();
    /** Queue pairs that are not destroyed. */
    final AtomicInteger open = new AtomicInteger();

    @Override
    public String name() {
        return "faulty";
    }

    /** A provider of one device. */
    FaultyProvider() {
        this(new ConcurrentHashMap<>(), List.of(new Port(DEVICE, "")));
    }

    /**
     * @param networks which network the device at a TCP port is on; shared by the providers of all nodes
     * @param ports the devices, the first of them on rail 0
     */
    FaultyProvider(Map<Integer, String> networks, List<Port> ports) {
        this.networks = networks;
        this.ports = ports;
    }

    /**
     * A device and what it says of its port. Queue pairs reach those of devices on the same network alone.
     *
     * @param layer link layer; the soft device's, if empty
     * @param gid that the port says; the soft device's, if empty
     */
    record Port(String device, String network, Optional<LinkLayer> layer, Optional<Gid> gid) {
        Port(String device, String network) {
            this(device, network, Optional.empty(), Optional.empty());
        }
    }

    @Override
    public List<String> present() {
        return ports.stream().map(Port::device).toList();
    }

    @Override
    public Availability probe(Set<String> except) {
        return new Availability.Available(present());
    }

    @Override
    public Device open(String device) {
        return new FaultyDevice(
                soft.open(SoftProvider.DEVICE),
                ports.stream()
                        .filter(port -> port.device().equals(device))
                        .findFirst()
                        .orElseThrow());
    }

    /** Destroys what agents have left behind. */
    void closeAll() {
        made.forEach(QueuePair::close);
    }

    @SuppressWarnings("ReferenceEquality") // a queue pair equals itself alone
    private QueuePair faulty(QueuePair queuePair, Port port) {
        open.incrementAndGet();
        AtomicInteger closes = new AtomicInteger();
        QueuePair faulty = (QueuePair) Proxy.newProxyInstance(
                QueuePair.class.getClassLoader(), new Class<?>[] {QueuePair.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("equals")) {
                        return proxy == arguments[0];
                    }
                    if (method.getName().equals("close")) {
                        if (takeOne(refusals)) {
                            throw new VerbsException("destroy_qp on " + queuePair + ": EIO", EIO);
                        }
                        if (closes.getAndIncrement() == 0) {
                            open.decrementAndGet();
                        }
                    }
                    if (method.getName().equals("postSend") && postFails) {
                        postFails = false;
                        throw new VerbsException("post_send on " + queuePair + ": EIO", EIO);
                    }
                    if (method.getName().equals("modifyToRtr") && connectsFail) {
                        throw new VerbsException("modify_qp on " + queuePair + ": ETIMEDOUT", ETIMEDOUT);
                    }
                    if (method.getName().equals("modifyToRtr")
                            && (blocked || !reaches(port, (QpEndpoint) arguments[0]))) {
                        blockedAt.add(System.nanoTime());
                        QpEndpoint peer = (QpEndpoint) arguments[0];
                        queuePair.modifyToRtr(
                                new QpEndpoint(peer.qpn(), NOBODY_LISTENS, peer.gid(), peer.psn()),
                                PathLimits.of(queuePair.options()));
                        return null;
                    }
                    return invoke(queuePair, method, arguments);
                });
        made.add(faulty);
        return faulty;
    }

    private boolean reaches(Port port, QpEndpoint peer) {
        return port.network().equals(networks.get(peer.lid()));
    }

    private static boolean takeOne(AtomicInteger left) {
        return left.getAndUpdate(now -> Math.max(0, now - 1)) > 0;
    }

    private static Object invoke(QueuePair queuePair, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(queuePair, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private final class FaultyDevice implements Device {
        private final Device device;
        private final Port port;

        FaultyDevice(Device device, Port port) {
            this.device = device;
            this.port = port;
            networks.put(device.queryPort().lid(), port.network());
        }

        @Override
        public String name() {
            return port.device();
        }

        @Override
        public DeviceAttributes attributes() {
            return device.attributes();
        }

        @Override
        public PortAttributes queryPort() {
            PortAttributes soft = device.queryPort();
            return new PortAttributes(
                    soft.number(),
                    soft.state(),
                    port.layer().orElse(soft.linkLayer()),
                    soft.activeMtu(),
                    soft.lid(),
                    soft.gidIndex(),
                    port.gid().orElse(soft.gid()),
                    soft.grhRequired());
        }

        @Override
        public ProtectionDomain allocateProtectionDomain() {
            return new FaultyDomain(this, port, device.allocateProtectionDomain());
        }

        @Override
        public CompletionChannel createCompletionChannel() {
            return device.createCompletionChannel();
        }

        @Override
        public CompletionQueue createCompletionQueue(int cqe) {
            return new FaultyQueue(device.createCompletionQueue(cqe));
        }

        @Override
        public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
            if (takeOne(queueRefusals)) {
                throw new VerbsException("create_cq on " + DEVICE + ": ENOMEM", ENOMEM);
            }
            return new FaultyQueue(device.createCompletionQueue(cqe, channel));
        }

        @Override
        public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
            return device.awaitAsyncEvent(timeout);
        }

        @Override
        public void close() {
            device.close();
        }
    }

    private final class FaultyDomain implements ProtectionDomain {
        private final Device device;
        private final Port port;
        private final ProtectionDomain domain;

        FaultyDomain(Device device, Port port, ProtectionDomain domain) {
            this.device = device;
            this.port = port;
            this.domain = domain;
        }

        @Override
        public Device device() {
            return device;
        }

        @Override
        public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
            if (exportsFail && access.contains(AccessFlag.REMOTE_WRITE)) {
                throw new VerbsException("reg_mr on " + DEVICE + ": ENOMEM", ENOMEM);
            }
            return domain.registerMemory(memory, access);
        }

        @Override
        public QueuePair createQueuePair(CompletionQueue sends, CompletionQueue receives, QpOptions options) {
            if (createsFail) {
                throw new VerbsException("create_qp on " + DEVICE + ": ENOMEM", ENOMEM);
            }
            return faulty(
                    domain.createQueuePair(((FaultyQueue) sends).queue, ((FaultyQueue) receives).queue, options), port);
        }

        @Override
        public QueuePair createQueuePair(
                CompletionQueue sends, CompletionQueue receives, SharedReceiveQueue shared, QpOptions options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
            return domain.createSharedReceiveQueue(maxWr, maxSge);
        }

        @Override
        public void close() {
            domain.close();
        }
    }

    private final class FaultyQueue implements CompletionQueue {
        private final CompletionQueue queue;

        FaultyQueue(CompletionQueue queue) {
            this.queue = queue;
            openQueues.incrementAndGet();
        }

        @Override
        public int capacity() {
            return queue.capacity();
        }

        @Override
        public int poll(WorkCompletion[] into) {
            if (pollFails) {
                pollFails = false;
                throw new VerbsException("poll_cq on " + queue + ": -1");
            }
            return queue.poll(into);
        }

        @Override
        public void requestNotification() {
            queue.requestNotification();
        }

        @Override
        public void close() {
            if (takeOne(queueCloseRefusals)) {
                throw new VerbsException("destroy_cq on " + DEVICE + ": EIO", EIO);
            }
            queue.close();
            openQueues.decrementAndGet();
        }
    }
}
