package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A node that works with a space, and so knows where its pages live. As long as there is one, the room of the space is given to no other.
 *
 * @param space id of the space
 * @param node which works with it
 * @param incarnation of the node
 * @param mode alone or beside others
 */
public record Attachment(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode) {}
