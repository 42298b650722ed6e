package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import java.util.List;

/**
 * The cluster that was formed.
 *
 * @param name of the cluster
 * @param formedAt when
 * @param nodes that are expected
 * @param missing ids of those that have not registered yet
 */
public record Cluster(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) Instant formedAt,
        @JsonProperty(required = true) List<ExpectedNode> nodes,
        @JsonProperty(required = true) List<String> missing) {

    /** Copies the lists. */
    public Cluster {
        nodes = List.copyOf(nodes);
        missing = List.copyOf(missing);
    }
}
