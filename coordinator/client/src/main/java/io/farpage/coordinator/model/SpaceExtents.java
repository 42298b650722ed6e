package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Where all pages of a space live.
 *
 * @param space which
 * @param index of the last event that this takes into account
 * @param extents in the order of their pages, without gaps
 */
public record SpaceExtents(
        @JsonProperty(required = true) Space space,
        @JsonProperty(required = true) long index,
        @JsonProperty(required = true) List<Extent> extents) {

    /** Copies the extents. */
    public SpaceExtents {
        extents = List.copyOf(extents);
    }
}
