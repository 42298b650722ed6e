package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.TransportKind;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The parts of the coordinator's description of a peer that a link needs. */
record PeerView(Node node, Optional<Region> header) {
    /** Name of the region that is a pool's header page. */
    static final String HEADER = "header";

    /** Whether the peer has published all that a link needs. */
    boolean isComplete() {
        return header.isPresent();
    }

    /** The same regions with what the coordinator says of the node now. */
    PeerView with(Node changed) {
        return new PeerView(changed, header);
    }

    long incarnation() {
        return node.incarnation().value();
    }

    /**
     * How to reach the peer's pool over one of its devices; empty as long as it has not published that.
     *
     * @param grants what the peer has granted to this node
     */
    Optional<PeerMemory> memory(TransportKind transport, int rail, PeerGrants grants) {
        return device(transport, rail)
                .flatMap(device -> key(header, device)
                        .map(rkey -> new PeerMemory(
                                node.poolId().value(),
                                header.orElseThrow().address().value(),
                                rkey,
                                device,
                                grants.on(incarnation(), device))));
    }

    /**
     * Why a link does not use an RDMA device: the peer has granted ranges without a key for it, and TCP reaches them.
     * Empty if the link may use it.
     *
     * @param grants what the peer has granted to this node
     */
    Optional<String> lacksKeys(TransportKind transport, int rail, PeerGrants grants) {
        if (transport == TransportKind.TCP || !node.transports().contains(TransportKind.TCP)) {
            return Optional.empty();
        }
        return device(transport, rail)
                .filter(device -> grants.lacks(incarnation(), device))
                .map(device -> "'%s' has granted ranges without a key for its device %s".formatted(node.id(), device));
    }

    /**
     * The peer's name of one of its devices. A peer that does not announce rails has numbered its devices in their
     * order.
     */
    private Optional<String> device(TransportKind transport, int rail) {
        List<DeviceInfo> devices = node.devices().stream()
                .filter(device -> device.transport() == transport)
                .toList();
        boolean announced = devices.stream().anyMatch(device -> device.rail().isPresent());
        return (announced
                        ? devices.stream().filter(device -> device.rail().equals(OptionalInt.of(rail)))
                        : devices.stream().skip(rail))
                .map(DeviceInfo::name)
                .findFirst();
    }

    private Optional<Integer> key(Optional<Region> region, String device) {
        return region.filter(published -> published.incarnation().equals(node.incarnation()))
                .flatMap(published -> published.keys().stream()
                        .filter(k -> k.device().equals(device))
                        .map(RegionKey::rkey)
                        .map(Long::intValue)
                        .findFirst());
    }
}
