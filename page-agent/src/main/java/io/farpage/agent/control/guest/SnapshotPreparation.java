package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A guest is prepared for a snapshot that follows within some seconds.
 *
 * @param protectedBytes of its memory that were write-protected while it ran; when it is paused, only those are again
 *     that it has written to since
 * @param micros how long that took
 */
public record SnapshotPreparation(
        @JsonProperty(required = true) long protectedBytes,
        @JsonProperty(required = true) long micros) {}
