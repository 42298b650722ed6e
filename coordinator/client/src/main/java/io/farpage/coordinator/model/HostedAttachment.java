package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A node that is attached to a space, for a home that has extents of that space.
 *
 * @param space id of the space
 * @param node which is attached
 * @param incarnation of that node
 * @param id of the attachment
 * @param granted version of the {@link Grant} of this home for it that the coordinator has; 0 if it has none
 */
public record HostedAttachment(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) long granted) {}
