package io.farpage.agent;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.config.HostPort;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RegionRequest;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.pool.PagePool;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.PortAttributes;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * This node's registration and regions, for the devices that are open.
 *
 * @param address where others reach the REST API
 * @param keys of links
 */
record Announcement(Incarnation incarnation, HostPort address, PagePool pool, Transports transports, LinkKeys keys) {
    Registration registration() {
        return new Registration(
                incarnation,
                Host.name(),
                address.toString(),
                Host.cpus(),
                Host.memoryBytes(),
                transports.devices().stream().map(Announcement::info).toList(),
                new PoolInfo(pool.exported().byteSize(), pool.frameBytes()),
                transports.devices().stream().map(OpenDevice::transport).toList(),
                Optional.of(keys.published()),
                Optional.of(NodeStatus.ACTIVE));
    }

    Map<String, RegionRequest> regions() {
        return Map.of(LinkControl.HEADER_REGION, region(OpenDevice::header), Region.POOL, region(OpenDevice::exported));
    }

    private RegionRequest region(Function<OpenDevice, MemoryRegion> which) {
        MemoryRegion any = which.apply(transports.devices().getFirst());
        return new RegionRequest(
                incarnation,
                new RemoteAddress(any.address()),
                any.length(),
                transports.devices().stream()
                        .map(open -> new RegionKey(
                                open.device().name(),
                                Integer.toUnsignedLong(which.apply(open).rkey())))
                        .toList());
    }

    private static DeviceInfo info(OpenDevice open) {
        PortAttributes port = open.device().queryPort();
        int numaNode = open.device().attributes().numaNode();
        return new DeviceInfo(
                open.device().name(),
                open.transport(),
                port.number(),
                port.linkLayer().toString(),
                numaNode < 0 ? OptionalInt.empty() : OptionalInt.of(numaNode));
    }
}
