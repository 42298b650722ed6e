package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An extent at a moment of its history.
 *
 * @param firstPage number of its first page within the space
 * @param epoch how often its homes had changed
 */
public record ExtentEpoch(
        @JsonProperty(required = true) long firstPage,
        @JsonProperty(required = true) long epoch) {

    /** The present epoch of an extent. */
    public static ExtentEpoch of(Extent extent) {
        return new ExtentEpoch(extent.firstPage(), extent.epochNumber());
    }
}
