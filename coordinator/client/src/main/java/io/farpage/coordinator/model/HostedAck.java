package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Says that a node keeps what it hosts, the body of {@code POST /nodes/{id}/hosted/ack}.
 *
 * @param incarnation of the node
 * @param revision of the {@link Hosted} that it keeps
 */
public record HostedAck(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long revision) {}
