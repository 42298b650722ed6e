package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/**
 * How far a home that joins an extent has come with pulling the pages from the other homes. Where a node is attached,
 * the only writer, it notes the pages that it writes from before the pull begins until it is done, and then copies
 * these.
 */
public enum PullState {
    /** The attached node does not note what it writes yet. */
    @JsonProperty("awaited")
    AWAITED,
    /** The home pulls the pages: no node is attached, or the attached one notes what it writes. */
    @JsonProperty("running")
    RUNNING,
    /** The home has pulled all pages, and pulls none in this epoch or a later one. */
    @JsonProperty("done")
    DONE;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
