package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How the guests of nodes have faulted.
 *
 * @param now the coordinator's clock, in seconds since 1970, as the times of the histories
 * @param since when this coordinator began to collect figures, by the same clock; it has none from before
 * @param nodes those that have reported in the last 15 minutes, in the order of their ids
 */
public record NodeFigures(
        @JsonProperty(required = true) long now,
        @JsonProperty(required = true) long since,
        @JsonProperty(required = true) List<OfNode> nodes) {

    /** Copies the list. */
    public NodeFigures {
        nodes = List.copyOf(nodes);
    }

    /**
     * A node.
     *
     * @param node its id
     * @param history of the faults of all its guests together
     */
    public record OfNode(
            @JsonProperty(required = true) String node,
            @JsonProperty(required = true) FaultHistory history) {}
}
