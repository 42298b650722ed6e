package io.farpage.agent.control.link;

import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.TransportKind;
import java.util.List;
import java.util.Optional;

/** The parts of the coordinator's description of a peer that a link needs. */
record PeerView(Node node, Optional<Region> header, Optional<Region> pool) {
    /** Name of the region that is a pool's header page. */
    static final String HEADER = "header";

    /** Whether the peer has published all that a link needs. */
    boolean isComplete() {
        return header.isPresent() && pool.isPresent();
    }

    /** The same regions with what the coordinator says of the node now. */
    PeerView with(Node changed) {
        return new PeerView(changed, header, pool);
    }

    long incarnation() {
        return node.incarnation().value();
    }

    /** How to reach the peer's pool over one of its devices; empty as long as it has not published that. */
    Optional<PeerMemory> memory(TransportKind transport, int rail) {
        List<String> names = node.devices().stream()
                .filter(d -> d.transport() == transport)
                .map(d -> d.name())
                .toList();
        if (rail >= names.size() || header.isEmpty() || pool.isEmpty()) {
            return Optional.empty();
        }
        Optional<Integer> headerKey = key(header.get(), names.get(rail));
        Optional<Integer> poolKey = key(pool.get(), names.get(rail));
        if (headerKey.isEmpty() || poolKey.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new PeerMemory(
                header.get().address().value(),
                headerKey.get(),
                pool.get().address().value(),
                pool.get().length(),
                poolKey.get()));
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
