package io.farpage.agent.control.device;

import io.farpage.agent.control.CloseStack;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.pool.PagePool;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import java.util.EnumSet;
import java.util.Set;

/**
 * An open device with the pool registered: the header page for peers to read, the exported frames for them to read and write, the
 * staging frames for this host alone.
 */
public final class OpenDevice implements AutoCloseable {
    private static final Set<AccessFlag> STAGING = EnumSet.of(AccessFlag.LOCAL_WRITE);
    private static final Set<AccessFlag> HEADER = EnumSet.of(AccessFlag.REMOTE_READ);
    private static final Set<AccessFlag> EXPORTED =
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    private final CloseStack parts = new CloseStack();
    private final TransportKind transport;
    private final int rail;
    private final Device device;
    private final ProtectionDomain domain;
    private final MemoryRegion header;
    private final MemoryRegion exported;
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
        try {
            domain = parts.add(device.allocateProtectionDomain());
            header = parts.add(domain.registerMemory(pool.header(), HEADER));
            exported = parts.add(domain.registerMemory(pool.exported(), EXPORTED));
            staging = parts.add(domain.registerMemory(pool.staging(), STAGING));
        } catch (RuntimeException e) {
            parts.closeAfter(e);
            throw e;
        }
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

    public ProtectionDomain domain() {
        return domain;
    }

    public MemoryRegion header() {
        return header;
    }

    public MemoryRegion exported() {
        return exported;
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
     * @throws RuntimeException of the first part that does not close, after the others have been tried: the device may still use the
     *     pool then
     */
    @Override
    public void close() {
        parts.close();
    }

    @Override
    public String toString() {
        return device.name();
    }
}
