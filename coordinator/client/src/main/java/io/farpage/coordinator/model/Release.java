package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A piece of a node's pool that no space uses and that the node must zero before it can be used again: a copy of an
 * extent that has other homes, or pages of a space that was deleted.
 *
 * @param id to acknowledge it by
 * @param space id of the space that it belonged to
 * @param incarnation of the agent that made the pool ({@link Node#poolId})
 * @param offset bytes from the start of the exported region
 * @param length in bytes
 * @param deleted whether the whole space was deleted
 */
public record Release(
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long offset,
        @JsonProperty(required = true) long length,
        @JsonProperty(required = true) boolean deleted) {}
