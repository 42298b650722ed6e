package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A cluster to be formed, the body of {@code POST /cluster} and the content of an inventory file.
 *
 * @param name of the cluster; as a node id
 * @param nodes that are expected; may be empty; others may join too
 */
public record ClusterRequest(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) List<ExpectedNode> nodes) {

    /** Checks that no id and no address is there twice. */
    public ClusterRequest {
        Check.name("name", name);
        Check.range("nodes: number of elements", nodes.size(), 0, 10_000);
        nodes = List.copyOf(nodes);
        Set<String> seen = new HashSet<>();
        for (ExpectedNode node : nodes) {
            if (!seen.add(node.id())) {
                throw new IllegalArgumentException("nodes: '%s' is listed twice".formatted(node.id()));
            }
            if (node.address().isPresent() && !seen.add("@" + node.address().get())) {
                throw new IllegalArgumentException("nodes: address '%s' is listed twice"
                        .formatted(node.address().get()));
            }
        }
    }
}
