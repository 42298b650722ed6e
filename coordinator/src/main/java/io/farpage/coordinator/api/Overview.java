package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * All that the dashboard shows, at one moment.
 *
 * @param index of the last event
 * @param cluster if one was formed
 * @param nodes with their use of memory
 * @param links of which at least one side has published its endpoint
 * @param spaces all of them
 */
record Overview(long index, Optional<Cluster> cluster, List<NodeUse> nodes, List<Link> links, List<Space> spaces) {

    /** A node and what of its exported pool is free. */
    record NodeUse(Node node, long freeBytes) {}

    /** Two nodes, which of them have published, and what both offer. */
    record Link(String a, String b, boolean aPublished, boolean bPublished, List<TransportKind> transports) {}

    static Overview of(long index, Membership membership, Links links, Spaces spaces) {
        List<NodeUse> nodes = membership.nodes().stream()
                .map(node -> new NodeUse(node, spaces.freeBytes(node)))
                .toList();
        return new Overview(index, membership.cluster(), nodes, pairs(links.all()), spaces.all());
    }

    private static List<Link> pairs(List<Endpoint> endpoints) {
        Map<String, Endpoint> byKey = new TreeMap<>();
        endpoints.forEach(endpoint -> byKey.put(endpoint.node() + "/" + endpoint.peer(), endpoint));
        List<Link> pairs = new ArrayList<>();
        byKey.forEach((key, one) -> {
            Optional<Endpoint> other = Optional.ofNullable(byKey.get(one.peer() + "/" + one.node()));
            boolean first = one.node().compareTo(one.peer()) < 0;
            if (first) {
                pairs.add(new Link(one.node(), one.peer(), true, other.isPresent(), transports(one, other)));
            } else if (other.isEmpty()) {
                pairs.add(new Link(one.peer(), one.node(), false, true, transports(one, other)));
            }
        });
        return pairs;
    }

    private static List<TransportKind> transports(Endpoint one, Optional<Endpoint> other) {
        List<TransportKind> offered = kinds(one);
        return other.map(endpoint ->
                        offered.stream().filter(kinds(endpoint)::contains).toList())
                .orElse(offered);
    }

    private static List<TransportKind> kinds(Endpoint endpoint) {
        return endpoint.entries().stream().map(QpEntry::transport).distinct().toList();
    }
}
