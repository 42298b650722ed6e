package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A piece of a node's pool that no space uses any more and that the node must zero before it can be used again.
 *
 * @param id to acknowledge it by
 * @param space id of the space that it belonged to
 * @param incarnation of the agent that made the pool ({@link Node#poolId})
 * @param offset bytes from the start of the exported region
 * @param length in bytes
 */
public record Release(
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long offset,
        @JsonProperty(required = true) long length) {}
