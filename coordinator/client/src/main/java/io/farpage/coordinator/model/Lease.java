package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Duration;

/**
 * What a heartbeat is answered with.
 *
 * @param leaseMillis how long the lease holds from now on
 * @param heartbeatMillis how often heartbeats should come
 * @param status of the node now
 * @param index of the last event, so that an agent sees at each heartbeat whether it has missed something
 */
public record Lease(
        @JsonProperty(required = true) long leaseMillis,
        @JsonProperty(required = true) long heartbeatMillis,
        @JsonProperty(required = true) NodeStatus status,
        @JsonProperty(required = true) long index) {

    /** How often heartbeats should come. */
    public Duration heartbeatInterval() {
        return Duration.ofMillis(heartbeatMillis);
    }
}
