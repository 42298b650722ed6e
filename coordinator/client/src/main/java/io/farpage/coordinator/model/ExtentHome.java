package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * One copy of an extent.
 *
 * @param node whose pool holds it
 * @param incarnation of the agent that made the pool ({@link Node#poolId}); another pool holds nothing of it
 * @param offset bytes from the start of the node's exported region
 */
public record ExtentHome(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long offset) {}
