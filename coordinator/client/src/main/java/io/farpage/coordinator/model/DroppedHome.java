package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A former home of an extent, in which the attached node may still have WRITEs under way.
 *
 * @param node whose pool holds the old copy
 * @param incarnation of that node
 * @param offset bytes from the start of the node's exported region
 * @param epoch of the extent, the first without this home
 */
public record DroppedHome(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long offset,
        @JsonProperty(required = true) long epoch) {

    public static DroppedHome of(ExtentHome home, long epoch) {
        return new DroppedHome(home.node(), home.incarnation(), home.offset(), epoch);
    }

    /** The home that it was. */
    public ExtentHome home() {
        return new ExtentHome(node, incarnation, offset);
    }
}
