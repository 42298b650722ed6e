package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The body of a heartbeat.
 *
 * @param incarnation whose lease the coordinator renews
 */
public record Heartbeat(@JsonProperty(required = true) Incarnation incarnation) {}
