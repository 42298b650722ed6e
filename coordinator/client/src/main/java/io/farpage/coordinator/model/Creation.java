package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Which request has made a space, so that the request can be repeated when its answer was lost.
 *
 * @param key of the request's Idempotency-Key header
 * @param request a hash of its body, 32 hex digits
 */
public record Creation(
        @JsonProperty(required = true) String key,
        @JsonProperty(required = true) String request) {}
