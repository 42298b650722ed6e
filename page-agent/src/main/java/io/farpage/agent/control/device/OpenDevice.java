package io.farpage.agent.control.device;

import io.farpage.agent.control.CloseStack;
import io.farpage.coordinator.model.Fabric;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.pool.PagePool;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.VerbsException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * An open device with the pool registered: the header page for peers to read, and the staging frames for this host
 * alone. Exported frames are registered in ranges, each with a key of its own, while a node is attached to the space
 * that they hold.
 */
public final class OpenDevice implements AutoCloseable {
    private static final Set<AccessFlag> STAGING = EnumSet.of(AccessFlag.LOCAL_WRITE);
    private static final Set<AccessFlag> READ_ONLY = EnumSet.of(AccessFlag.REMOTE_READ);
    private static final Set<AccessFlag> EXPORTED =
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    private final CloseStack parts = new CloseStack();
    private final TransportKind transport;
    private final int rail;
    private final Device device;
    private final ProtectionDomain domain;
    private final MemoryRegion header;
    private final PagePool pool;
    private final Set<Exported> exported = ConcurrentHashMap.newKeySet();
    /** Shared by registering and revoking, which do not wait for each other. Closing excludes both. */
    private final ReentrantReadWriteLock use = new ReentrantReadWriteLock();

    private boolean closed;
    private final MemoryRegion staging;
    private volatile DeviceState state = DeviceState.USABLE;

    /**
     * Registers the pool with an open device. The device is closed again if that fails.
     *
     * @param rail number of the device among those of the same transport, from 0
     */
    OpenDevice(TransportKind transport, int rail, Device device, PagePool pool) {
        this.transport = transport;
        this.rail = rail;
        this.device = parts.add(device);
        this.pool = pool;
        try {
            domain = parts.add(device.allocateProtectionDomain());
            header = parts.add(domain.registerMemory(pool.header(), READ_ONLY));
            requireExportable();
            staging = parts.add(domain.registerMemory(pool.staging(), STAGING));
        } catch (RuntimeException e) {
            parts.closeAfter(e);
            throw e;
        }
    }

    /**
     * Finds out at once whether the device can register the whole pool (RLIMIT_MEMLOCK). The key is not sent to any
     * node.
     */
    private void requireExportable() {
        domain.registerMemory(pool.exported(), EXPORTED).close();
    }

    public TransportKind transport() {
        return transport;
    }

    /** Number of the device among those of the same transport. */
    public int rail() {
        return rail;
    }

    public Device device() {
        return device;
    }

    /**
     * What the port may reach, as it is now: asks the device each time.
     *
     * @throws VerbsException if the device does not answer
     */
    public Fabric fabric() {
        PortAttributes port = device.queryPort();
        return Fabric.of(port.linkLayer().toString(), Subnet.of(port.linkLayer(), port.gid()));
    }

    public ProtectionDomain domain() {
        return domain;
    }

    public MemoryRegion header() {
        return header;
    }

    /**
     * Registers a range of the exported frames for one peer to read and write. The device deregisters it when it is
     * closed itself. Any thread.
     *
     * @param offset of the first byte from the start of the exported frames
     * @param length in bytes, at least 1
     * @return close it to revoke its key: afterwards no request with it is executed, also none that had begun
     * @throws VerbsException if the device refuses, or is closed
     */
    public MemoryRegion export(long offset, long length) {
        return export(offset, length, EXPORTED);
    }

    /** As {@link #export}, for one peer to read. */
    public MemoryRegion exportForReads(long offset, long length) {
        return export(offset, length, READ_ONLY);
    }

    private MemoryRegion export(long offset, long length, Set<AccessFlag> access) {
        use.readLock().lock();
        try {
            if (closed) {
                throw new VerbsException("reg_mr on " + this + ": the device is closed");
            }
            Exported region =
                    new Exported(this, domain.registerMemory(pool.exported().asSlice(offset, length), access));
            exported.add(region);
            return region;
        } finally {
            use.readLock().unlock();
        }
    }

    /** How many ranges are registered for peers. */
    public int exportedRanges() {
        return exported.size();
    }

    private void revoke(Exported region) {
        use.readLock().lock();
        try {
            region.memory().close();
            exported.remove(region);
        } finally {
            use.readLock().unlock();
        }
    }

    /** A range of the exported frames. */
    private record Exported(OpenDevice device, MemoryRegion memory) implements MemoryRegion {
        @Override
        public long address() {
            return memory.address();
        }

        @Override
        public long length() {
            return memory.length();
        }

        @Override
        public int lkey() {
            return memory.lkey();
        }

        @Override
        public int rkey() {
            return memory.rkey();
        }

        @Override
        public Set<AccessFlag> access() {
            return memory.access();
        }

        @Override
        public void close() {
            device.revoke(this);
        }
    }

    public MemoryRegion staging() {
        return staging;
    }

    public DeviceState state() {
        return state;
    }

    public boolean isUsable() {
        return state == DeviceState.USABLE;
    }

    void setState(DeviceState now) {
        state = now;
    }

    /**
     * Deregisters the pool and closes the device. Queue pairs must be closed before.
     *
     * @throws RuntimeException of the first part that does not close, after the others have been tried: the device may
     *     still use the pool then
     */
    @Override
    public void close() {
        use.writeLock().lock();
        try {
            if (!closed) {
                closed = true;
                exported.forEach(region -> parts.add(region.memory()));
                exported.clear();
            }
            parts.close();
        } finally {
            use.writeLock().unlock();
        }
    }

    @Override
    public String toString() {
        return device.name();
    }
}
