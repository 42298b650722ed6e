package io.farpage.agent.control.device;

import io.farpage.pool.PagePool;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import java.util.EnumSet;
import java.util.List;
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

    private final Transport transport;
    private final int rail;
    private final Device device;
    private final ProtectionDomain domain;
    private final MemoryRegion header;
    private final MemoryRegion exported;
    private final MemoryRegion staging;
    private volatile DeviceState state = DeviceState.USABLE;

    private OpenDevice(
            Transport transport,
            int rail,
            Device device,
            ProtectionDomain domain,
            MemoryRegion header,
            MemoryRegion exported,
            MemoryRegion staging) {
        this.transport = transport;
        this.rail = rail;
        this.device = device;
        this.domain = domain;
        this.header = header;
        this.exported = exported;
        this.staging = staging;
    }

    /**
     * Registers the pool with an open device. The device is closed again if that fails.
     *
     * @param rail number of the device among those of the same transport, from 0
     */
    static OpenDevice of(Transport transport, int rail, Device device, PagePool pool) {
        Undo undo = new Undo();
        try {
            undo.add(device);
            ProtectionDomain domain = undo.add(device.allocateProtectionDomain());
            MemoryRegion header = undo.add(domain.registerMemory(pool.header(), HEADER));
            MemoryRegion exported = undo.add(domain.registerMemory(pool.exported(), EXPORTED));
            MemoryRegion staging = undo.add(domain.registerMemory(pool.staging(), STAGING));
            return new OpenDevice(transport, rail, device, domain, header, exported, staging);
        } catch (RuntimeException e) {
            undo.run(e);
            throw e;
        }
    }

    public Transport transport() {
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

    void state(DeviceState now) {
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
        RuntimeException failed = null;
        for (Runnable part :
                List.<Runnable>of(staging::close, exported::close, header::close, domain::close, device::close)) {
            try {
                part.run();
            } catch (RuntimeException e) {
                failed = failed == null ? e : failed;
            }
        }
        if (failed != null) {
            throw failed;
        }
    }

    @Override
    public String toString() {
        return device.name();
    }
}
