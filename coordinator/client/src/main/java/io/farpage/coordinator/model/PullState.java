package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/**
 * How far a home has come that joins an extent of an attached space and copies the pages from the other homes itself. The attached node, the only writer, notes
 * the pages that it writes from before the copy begins until the copy is done, and then copies these alone.
 */
public enum PullState {
    /** The attached node does not note what it writes yet. */
    @JsonProperty("awaited")
    AWAITED,
    /** The attached node notes what it writes, and the home that joins copies the pages. */
    @JsonProperty("running")
    RUNNING,
    /** The home that joins has copied all pages, and copies none in this epoch or a later one. */
    @JsonProperty("done")
    DONE;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
