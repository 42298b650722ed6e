package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How far a space is from having all its homes.
 *
 * @param space id of the space
 * @param whole whether each extent has as many homes as the space was made with, none of them on a node that is drained
 *     or whose lease has run out
 * @param bytes of the copies that are missing; a copy counts as missing until the home that joins is promoted
 * @param copiedBytes of these, already copied to homes that join, as agents have reported within the last seconds
 * @param lostExtents extents whose pages are lost; no repair brings them back
 * @param reasons why copies are missing, for people
 */
public record Repair(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) boolean whole,
        @JsonProperty(required = true) long bytes,
        @JsonProperty(required = true) long copiedBytes,
        @JsonProperty(required = true) long lostExtents,
        @JsonProperty(required = true) List<String> reasons) {

    /** Copies the reasons. */
    public Repair {
        reasons = List.copyOf(reasons);
    }

    /** Bytes that no home that joins has yet. */
    public long leftBytes() {
        return Math.max(0, bytes - copiedBytes);
    }
}
