package io.farpage.agent.node;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.config.HostPort;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.pool.PagePool;
import io.farpage.verbs.PortAttributes;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * This node's registration, for the devices that are open.
 *
 * @param address where others reach the REST API; port 0 if they do not
 * @param keys of links
 * @param domain failure domain, if it is not the node itself
 * @param adopts the spaces of guests that the process before has left
 */
record Announcement(
        Incarnation incarnation,
        HostPort address,
        PagePool pool,
        Transports transports,
        LinkKeys keys,
        Optional<String> domain,
        List<Long> adopts) {
    Registration registration() {
        Registration plain = new Registration(
                incarnation,
                Host.name(),
                address.toString(),
                Host.cpus(),
                Host.memoryBytes(),
                transports.devices().stream().map(Announcement::info).toList(),
                new PoolInfo(
                        pool.exported().byteSize(),
                        pool.frameBytes(),
                        Optional.of(new Incarnation(pool.id())).filter(id -> !id.equals(incarnation))),
                transports.devices().stream().map(OpenDevice::transport).toList(),
                Optional.of(keys.published()),
                Optional.of(NodeStatus.ACTIVE),
                domain,
                Optional.empty());
        return plain.withAdopted(adopts);
    }

    private static DeviceInfo info(OpenDevice open) {
        PortAttributes port = open.device().queryPort();
        int numaNode = open.device().attributes().numaNode();
        return new DeviceInfo(
                open.device().name(),
                open.transport(),
                port.number(),
                port.linkLayer().toString(),
                numaNode < 0 ? OptionalInt.empty() : OptionalInt.of(numaNode),
                OptionalInt.of(open.rail()));
    }
}
