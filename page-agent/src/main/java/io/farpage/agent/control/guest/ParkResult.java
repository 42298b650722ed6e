package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * How far a guest is parked.
 *
 * @param complete whether no more is resident than may stay; if not, the guest is parked and more of its pages leave
 * @param residentBytes of its memory now
 * @param leftBytes of its memory that have left for their homes since it was parked
 * @param millis that this took
 * @param detail why it is not complete; empty if it is
 */
public record ParkResult(
        @JsonProperty(required = true) boolean complete,
        @JsonProperty(required = true) long residentBytes,
        @JsonProperty(required = true) long leftBytes,
        @JsonProperty(required = true) long millis,
        @JsonProperty(required = true) String detail) {}
