package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What a link needs of the coordinator's description of a peer. */
record PeerView(Node node) {
    long incarnation() {
        return node.incarnation().value();
    }

    /**
     * How to reach the peer's pool over one of its queue pairs; empty if the peer announces no such device.
     *
     * @param grants what the peer has granted to this node
     */
    Optional<PeerMemory> memory(QpEntry theirs, PeerGrants grants) {
        return device(theirs.transport(), theirs.rail())
                .map(device -> new PeerMemory(
                        node.poolId().value(),
                        theirs.header().address().value(),
                        (int) theirs.header().rkey(),
                        device,
                        grants.on(incarnation(), device)));
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

    /** The link layers of its RDMA devices, by rail. */
    Map<Integer, String> linkLayers() {
        Map<Integer, String> layers = new HashMap<>();
        devices(TransportKind.RDMA).forEach((rail, device) -> layers.put(rail, device.linkLayer()));
        return layers;
    }

    /** The rails of its RDMA devices for which it has granted ranges without a key; see {@link #lacksKeys}. */
    Set<Integer> railsWithoutKeys(PeerGrants grants) {
        return devices(TransportKind.RDMA).keySet().stream()
                .filter(rail -> lacksKeys(TransportKind.RDMA, rail, grants).isPresent())
                .collect(Collectors.toSet());
    }

    private Optional<String> device(TransportKind transport, int rail) {
        return Optional.ofNullable(devices(transport).get(rail)).map(DeviceInfo::name);
    }

    /** The peer's devices by rail. A peer that does not announce rails has numbered its devices in their order. */
    private Map<Integer, DeviceInfo> devices(TransportKind transport) {
        List<DeviceInfo> devices = node.devices().stream()
                .filter(device -> device.transport() == transport)
                .toList();
        boolean announced = devices.stream().anyMatch(device -> device.rail().isPresent());
        Map<Integer, DeviceInfo> byRail = new HashMap<>();
        for (int number = 0; number < devices.size(); number++) {
            DeviceInfo device = devices.get(number);
            if (!announced) {
                byRail.put(number, device);
            } else if (device.rail().isPresent()) {
                byRail.putIfAbsent(device.rail().getAsInt(), device);
            }
        }
        return byRail;
    }
}
