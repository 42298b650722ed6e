package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The body of {@code PUT /spaces/{id}/attachments/{node}}.
 *
 * @param incarnation of the node
 * @param mode alone or beside others
 */
public record AttachRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode) {}
