package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SparseMemory;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.PortState;
import io.farpage.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The device of a process. */
final class SimulatedDevice implements Device {
    private static final int PORT = 18515;
    private static final int PAGE = 4096;
    private static final int PSN_MASK = 0xFF_FFFF;

    private final String name;
    private final Fabric fabric;
    private final Node node;
    private final Map<Integer, SimulatedQueuePair> queuePairs = new HashMap<>();
    private final Map<Integer, SimulatedDomain.Region> regions = new HashMap<>();
    private final Map<Integer, Revoked> revoked = new HashMap<>();
    /** What the agent registers first for others to write: all that it exports. */
    private Optional<MemorySegment> exported = Optional.empty();

    private boolean closed;

    private record Revoked(SimulatedDomain.Region region, long at, String by) {
        @Override
        public String toString() {
            return "the key of %d bytes for %s was revoked at %.6f s by %s"
                    .formatted(region.length(), region.access(), Engine.get().secondsAt(at), by);
        }
    }

    /** The frames that the device's process exports. */
    private final class Frames implements ExportedFrames {
        private final MemorySegment memory;

        Frames(MemorySegment memory) {
            this.memory = memory;
        }

        @Override
        public long firstByteOf(long offset, long length) {
            long found = SparseMemory.firstByte(memory.asSlice(offset, length), 0);
            return found < length ? offset + found : -1;
        }

        @Override
        public long firstPlainPageOf(long offset, long length) {
            for (long page = offset; page < offset + length; page += PAGE) {
                long first = memory.get(ValueLayout.JAVA_LONG, page);
                if (first != 0 && first == memory.get(ValueLayout.JAVA_LONG, page + PAGE - Long.BYTES)) {
                    return page;
                }
            }
            return -1;
        }

        @Override
        public List<Key> keys(long registeredBefore) {
            return regions.values().stream()
                    .filter(region -> region.isOfOthers() && region.since() < registeredBefore)
                    .map(region ->
                            new Key(region.address() - memory.address(), region.length(), region.since(), region.by()))
                    .filter(key -> key.reaches(0, memory.byteSize()))
                    .toList();
        }
    }

    SimulatedDevice(String name, Fabric fabric, Node node) {
        this.name = name;
        this.fabric = fabric;
        this.node = node;
    }

    Node node() {
        return node;
    }

    Fabric fabric() {
        return fabric;
    }

    boolean isClosed() {
        return closed;
    }

    Gid gid() {
        try {
            return Gid.of(InetAddress.getByName(node.address()));
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    static int port() {
        return PORT;
    }

    int randomPsn() {
        return Engine.get().random().nextInt() & PSN_MASK;
    }

    int add(SimulatedQueuePair queuePair) {
        int qpn = 2 + Engine.get().random().nextInt(PSN_MASK - 2);
        while (queuePairs.containsKey(qpn)) {
            qpn++;
        }
        queuePairs.put(qpn, queuePair);
        return qpn;
    }

    Optional<SimulatedQueuePair> find(int qpn) {
        return Optional.ofNullable(queuePairs.get(qpn));
    }

    void remove(SimulatedQueuePair queuePair) {
        queuePairs.remove(queuePair.qpn());
    }

    Optional<ExportedFrames> frames() {
        return exported.map(Frames::new);
    }

    int add(SimulatedDomain.Region region) {
        if (exported.isEmpty() && region.access().contains(AccessFlag.REMOTE_WRITE)) {
            exported = Optional.of(region.memory());
        }
        int key = Engine.get().random().nextInt();
        while (key == 0 || regions.containsKey(key)) {
            key = Engine.get().random().nextInt();
        }
        regions.put(key, region);
        return key;
    }

    Optional<SimulatedDomain.Region> region(int key) {
        return Optional.ofNullable(regions.get(key));
    }

    /** A key, for messages. */
    String describe(int key) {
        return region(key)
                .map(region -> "the key is of " + region.length() + " bytes for " + region.access())
                .or(() -> Optional.ofNullable(revoked.get(key)).map(Revoked::toString))
                .orElse("the key was never given");
    }

    /** Whether a key permits or permitted to read alone. */
    boolean isForReading(int key) {
        return region(key)
                .or(() -> Optional.ofNullable(revoked.get(key)).map(Revoked::region))
                .filter(region -> !region.access().contains(AccessFlag.REMOTE_WRITE))
                .isPresent();
    }

    void remove(SimulatedDomain.Region region) {
        revoked.put(
                region.rkey(),
                new Revoked(region, Engine.get().now(), Thread.currentThread().getName()));
        regions.remove(region.rkey());
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public DeviceAttributes attributes() {
        return new DeviceAttributes(
                "simulated", 65_536, 16_384, 16, 1 << 20, 65_536, Long.MAX_VALUE, 128, 0, 0, 1 << 30, -1);
    }

    @Override
    public PortAttributes queryPort() {
        return new PortAttributes(1, PortState.ACTIVE, LinkLayer.TCP, Mtu.MTU_4096, PORT, 0, gid(), false);
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        return new SimulatedDomain(this);
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        return new SimulatedChannel();
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe) {
        return new SimulatedCompletions(cqe, Optional.empty());
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
        return new SimulatedCompletions(cqe, Optional.of((SimulatedChannel) channel));
    }

    @Override
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        Thread.sleep(timeout);
        return Optional.empty();
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public String toString() {
        return name + " of " + node;
    }
}
