package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A node that joins an extent that no node is attached to, and copies the pages from the homes to its own pool.
 *
 * @param space id of the space
 * @param extent in the epoch in which the node joins; a pull of a later epoch is another one
 * @param node which joins
 * @param incarnation of that node
 * @param granted version of the {@link Grant} of this home for the pull that the coordinator has; 0 if it has none
 */
public record HostedPull(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) ExtentEpoch extent,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long granted) {}
