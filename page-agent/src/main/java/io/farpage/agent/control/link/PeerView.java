package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.TransportKind;
import java.util.List;
import java.util.Optional;

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
        List<String> names = node.devices().stream()
                .filter(d -> d.transport() == transport)
                .map(d -> d.name())
                .toList();
        if (rail >= names.size() || header.isEmpty()) {
            return Optional.empty();
        }
        String device = names.get(rail);
        return key(header.get(), device)
                .map(rkey -> new PeerMemory(
                        node.poolId().value(),
                        header.get().address().value(),
                        rkey,
                        device,
                        grants.on(incarnation(), device)));
    }

    private Optional<Integer> key(Region region, String device) {
        return !region.incarnation().equals(node.incarnation())
                ? Optional.empty()
                : region.keys().stream()
                        .filter(k -> k.device().equals(device))
                        .map(RegionKey::rkey)
                        .map(Long::intValue)
                        .findFirst();
    }
}
