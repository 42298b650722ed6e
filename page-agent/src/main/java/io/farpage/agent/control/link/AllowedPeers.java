package io.farpage.agent.control.link;

import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.GidRange;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The peers that this agent links with, whatever the coordinator says. An empty list allows all.
 *
 * @param nodes ids of peers
 * @param gids GIDs of peers' RDMA ports
 * @param addresses of peers that links over TCP lead to
 */
public record AllowedPeers(Set<String> nodes, List<GidRange> gids, List<GidRange> addresses) {
    /** Every peer of the cluster. */
    public static final AllowedPeers ALL = new AllowedPeers(Set.of(), List.of(), List.of());

    /** Copies the lists. */
    public AllowedPeers {
        nodes = Set.copyOf(nodes);
        gids = List.copyOf(gids);
        addresses = List.copyOf(addresses);
    }

    /** Why a link with {@code peer} is not allowed; empty if it is. */
    Optional<String> refuse(String peer) {
        return nodes.isEmpty() || nodes.contains(peer)
                ? Optional.empty()
                : Optional.of(
                        "node '" + peer + "' is not in link.allowed_peers; add it there if it belongs to the cluster");
    }

    /** Why no queue pair is connected to any of {@code entries}; empty if one may be, or there are none. */
    Optional<String> refuse(String peer, List<QpEntry> entries) {
        return entries.isEmpty() || entries.stream().anyMatch(this::allows)
                ? Optional.empty()
                : entries.stream().findFirst().map(entry -> describe(peer, entry));
    }

    /** Whether a queue pair may be connected to {@code entry}. */
    boolean allows(QpEntry entry) {
        List<GidRange> ranges = ranges(entry);
        Gid gid = entry.gid().orElse(Gid.ZERO);
        io.farpage.verbs.Gid address = new io.farpage.verbs.Gid(gid.high(), gid.low());
        return ranges.isEmpty() || ranges.stream().anyMatch(range -> range.contains(address));
    }

    private List<GidRange> ranges(QpEntry entry) {
        return entry.transport() == TransportKind.RDMA ? gids : addresses;
    }

    private String describe(String peer, QpEntry entry) {
        String key = entry.transport() == TransportKind.RDMA ? "rdma.allowed_gids" : "tcp.allowed_addresses";
        return "%s %s of node '%s' is none of %s, %s; add it there to reach the node under it"
                .formatted(
                        entry.transport() == TransportKind.RDMA ? "gid" : "address",
                        entry.gid().orElse(Gid.ZERO),
                        peer,
                        key,
                        ranges(entry));
    }
}
