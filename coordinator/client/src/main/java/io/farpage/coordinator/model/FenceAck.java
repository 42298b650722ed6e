package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An incarnation that a home has cut off, the body of {@code POST /nodes/{home}/fences}.
 *
 * @param incarnation of the home
 * @param node that is cut off
 * @param fenced the incarnation of that node; one that no fence names does no harm
 */
public record FenceAck(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation fenced) {}
