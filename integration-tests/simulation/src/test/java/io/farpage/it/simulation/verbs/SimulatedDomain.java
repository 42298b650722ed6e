package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/** A protection domain. */
final class SimulatedDomain implements ProtectionDomain {
    private final SimulatedDevice device;

    SimulatedDomain(SimulatedDevice device) {
        this.device = device;
    }

    /** Registered memory. */
    final class Region implements MemoryRegion {
        private final MemorySegment memory;
        private final Set<AccessFlag> access;
        private final long since = Engine.get().now();
        private final String by = Thread.currentThread().getName();
        private final int key;

        Region(MemorySegment memory, Set<AccessFlag> access) {
            this.memory = memory;
            this.access = access;
            key = device.add(this);
        }

        MemorySegment memory() {
            return memory;
        }

        /** Whether others have a use for the key. */
        boolean isOfOthers() {
            return access.contains(AccessFlag.REMOTE_READ) || access.contains(AccessFlag.REMOTE_WRITE);
        }

        /** When it was registered. */
        long since() {
            return since;
        }

        /** The thread that registered it. */
        String by() {
            return by;
        }

        SimulatedDomain domain() {
            return SimulatedDomain.this;
        }

        boolean permits(long address, int length, AccessFlag flag) {
            long offset = address - memory.address();
            return offset >= 0 && offset <= memory.byteSize() - length && access.contains(flag);
        }

        @Override
        public long address() {
            return memory.address();
        }

        @Override
        public long length() {
            return memory.byteSize();
        }

        @Override
        public int lkey() {
            return key;
        }

        @Override
        public int rkey() {
            return key;
        }

        @Override
        public Set<AccessFlag> access() {
            return access;
        }

        @Override
        public void close() {
            device.remove(this);
        }
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
        return new Region(memory, access);
    }

    @Override
    public QueuePair createQueuePair(CompletionQueue sendQueue, CompletionQueue receiveQueue, QpOptions options) {
        return new SimulatedQueuePair(
                device, this, (SimulatedCompletions) sendQueue, (SimulatedCompletions) receiveQueue, options);
    }

    @Override
    public QueuePair createQueuePair(
            CompletionQueue sendQueue, CompletionQueue receiveQueue, SharedReceiveQueue shared, QpOptions options) {
        throw new UnsupportedOperationException("agents have no shared receive queues");
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
        throw new UnsupportedOperationException("agents have no shared receive queues");
    }

    @Override
    public void close() {}
}
