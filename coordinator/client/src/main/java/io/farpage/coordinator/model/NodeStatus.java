package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/** Where a node is in its life. */
public enum NodeStatus {
    /** Serving. */
    @JsonProperty("active")
    ACTIVE,
    /** Draining before it goes; gets no new extents. */
    @JsonProperty("leaving")
    LEAVING,
    /** Its lease ran out; only the coordinator says so. */
    @JsonProperty("failed")
    FAILED;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
