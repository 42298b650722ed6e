package io.farpage.agent.control.device;

import io.farpage.agent.control.CloseStack;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.pool.PagePool;
import io.farpage.verbs.Availability;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open devices of this agent, best transport first, and why these. Any thread may read; one thread changes them.
 */
public final class Transports implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Transports.class);
    private static final int MAX_RAILS = 8;

    private final TransportMode mode;
    private final VerbsProvider rdma;
    private final PagePool pool;
    private final CopyOnWriteArrayList<OpenDevice> devices = new CopyOnWriteArrayList<>();
    private final RefusedDevices refused;
    private volatile Finding rdmaFinding;
    private volatile boolean released;
    private volatile Optional<Finding> tcpFinding = Optional.empty();

    private Transports(TransportMode mode, VerbsProvider rdma, PagePool pool, LongSupplier clock) {
        this.mode = mode;
        this.rdma = rdma;
        this.pool = pool;
        this.refused = new RefusedDevices(clock);
        this.rdmaFinding = new Finding(rdma.name(), false, "not probed: transport.mode is tcp", "");
    }

    /**
     * Opens the devices that {@code mode} allows and logs the choice with its reason, in one line.
     *
     * @param rdma provides RDMA devices
     * @param tcp provides the fallback
     * @param clock monotonic nanoseconds
     * @throws VerbsException if the mode is {@link TransportMode#RDMA} and no device is usable, saying why and what to
     *     do, or if the fallback cannot be opened, for one because its port is taken
     */
    public static Transports open(
            TransportMode mode, VerbsProvider rdma, VerbsProvider tcp, PagePool pool, LongSupplier clock) {
        Transports opened = new Transports(mode, rdma, pool, clock);
        try {
            opened.openRdma();
            if (mode == TransportMode.RDMA && opened.devices.isEmpty()) {
                Finding why = opened.rdmaFinding;
                throw new VerbsException("transport.mode is rdma and no RDMA device is usable: " + why.detail() + "; "
                        + why.fix() + ", or set transport.mode to auto");
            }
            if (mode != TransportMode.RDMA) {
                opened.openTcp(tcp);
            }
        } catch (RuntimeException e) {
            opened.close();
            throw e;
        }
        log.info("{}", opened.describe());
        return opened;
    }

    private void openTcp(VerbsProvider provider) {
        OpenDevice fallback = new OpenDevice(TransportKind.TCP, 0, provider.open("soft0"), pool);
        devices.add(fallback);
        PortAttributes port = fallback.device().queryPort();
        tcpFinding = Optional.of(
                new Finding(provider.name(), true, "listening on " + port.gid() + " port " + port.lid(), ""));
    }

    /**
     * Opens the usable RDMA devices that are not open yet. At start, and again to find new or returned ones. Touches no
     * device that is open, nor one that was not usable a moment ago.
     *
     * @return those that were opened
     */
    List<OpenDevice> openRdma() {
        List<OpenDevice> opened = new ArrayList<>();
        if (mode == TransportMode.TCP) {
            return opened;
        }
        List<String> present = rdma.present();
        refused.retain(present);
        Set<String> settled = present.stream()
                .filter(name -> isOpen(name) || refused.isPaused(name))
                .collect(Collectors.toSet());
        if (!present.isEmpty() && settled.containsAll(present)) {
            return opened;
        }
        switch (rdma.probe(settled)) {
            case Availability.Unavailable(Availability.Reason reason, String detail, String fix) ->
                notOpened(reason + ": " + detail, fix);
            case Availability.Available(List<String> names) -> {
                for (String name : names) {
                    openRdma(name).ifPresent(opened::add);
                }
            }
        }
        present.stream()
                .filter(name -> !isOpen(name) && !settled.contains(name))
                .forEach(refused::add);
        return opened;
    }

    private boolean isOpen(String name) {
        return devices.stream().anyMatch(device -> device.device().presentName().equals(name));
    }

    /** Keeps the reason unless another device is open. */
    private void notOpened(String detail, String fix) {
        if (devices.stream().noneMatch(device -> device.transport() == TransportKind.RDMA)) {
            rdmaFinding = new Finding(rdma.name(), false, detail, fix);
        }
    }

    private Optional<OpenDevice> openRdma(String name) {
        int rail = freeRail();
        if (rail == MAX_RAILS) {
            log.warn("rdma device {} is not used: {} are open already", name, MAX_RAILS);
            return Optional.empty();
        }
        try {
            OpenDevice device = new OpenDevice(TransportKind.RDMA, rail, rdma.open(name), pool);
            devices.add(device);
            refused.remove(name);
            devices.sort(Comparator.comparing(OpenDevice::transport).thenComparingInt(OpenDevice::rail));
            rdmaFinding = new Finding(rdma.name(), true, "device " + name, "");
            return Optional.of(device);
        } catch (VerbsException e) {
            notOpened(String.valueOf(e.getMessage()), "see the message");
            return Optional.empty();
        }
    }

    private int freeRail() {
        int rail = 0;
        while (rail < MAX_RAILS && device(TransportKind.RDMA, rail).isPresent()) {
            rail++;
        }
        return rail;
    }

    /** Closes a device that is lost. Its queue pairs and completion queues must be closed before. */
    void remove(OpenDevice device) {
        devices.remove(device);
        rdmaFinding = new Finding(rdma.name(), false, "device " + device + " was removed or has failed", "see dmesg");
        device.close();
    }

    /** All open devices, best first, usable or not. */
    public List<OpenDevice> devices() {
        return List.copyOf(devices);
    }

    public TransportMode mode() {
        return mode;
    }

    /** The result of probing each provider, with the fix where it is not usable. */
    public List<Finding> findings() {
        List<Finding> findings = new ArrayList<>();
        findings.add(rdmaFinding);
        tcpFinding.ifPresent(findings::add);
        return findings;
    }

    /** The open device with this transport and rail. */
    public Optional<OpenDevice> device(TransportKind transport, int rail) {
        return devices.stream()
                .filter(d -> d.transport() == transport && d.rail() == rail)
                .findFirst();
    }

    /** The transport that links use if the peer has it, too. */
    public TransportKind preferred() {
        return devices.stream()
                .filter(OpenDevice::isUsable)
                .map(OpenDevice::transport)
                .findFirst()
                .orElse(TransportKind.TCP);
    }

    /** Whether there is a fallback when RDMA fails. */
    public boolean hasFallback() {
        return tcpFinding.isPresent();
    }

    /** The choice and its reason, one line. */
    public String describe() {
        if (preferred() == TransportKind.RDMA) {
            return "transport: rdma on " + devices.getFirst() + (hasFallback() ? ", tcp for peers without it" : "");
        }
        Optional<OpenDevice> down =
                devices.stream().filter(d -> d.state() == DeviceState.PORT_DOWN).findFirst();
        if (down.isPresent()) {
            return "transport: tcp, because the port of " + down.get() + " is down; check its cable or ip link";
        }
        Optional<OpenDevice> withoutGid =
                devices.stream().filter(d -> d.state() == DeviceState.NO_GID).findFirst();
        if (withoutGid.isPresent()) {
            return "transport: tcp, because the port of " + withoutGid.get()
                    + " has no GID; give its network interface an address: ip address add ADDRESS dev NAME";
        }
        Finding why = rdmaFinding;
        return "transport: tcp, because " + why.detail() + (why.fix().isEmpty() ? "" : "; " + why.fix());
    }

    /** Whether every device is closed, so that none can access the pool. */
    public boolean isReleased() {
        return released;
    }

    /** @throws RuntimeException of the first device that does not close, after the others have been tried */
    @Override
    public void close() {
        CloseStack closing = new CloseStack();
        devices.forEach(closing::add);
        devices.clear();
        closing.close();
        released = true;
    }
}
