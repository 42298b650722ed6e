package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A run of pages of a space and where they live.
 *
 * @param firstPage number of its first page within the space
 * @param count how many pages
 * @param homes where they are, the primary first; one entry as yet
 * @param state whether they can still be had
 */
public record Extent(
        @JsonProperty(required = true) long firstPage,
        @JsonProperty(required = true) long count,
        @JsonProperty(required = true) List<ExtentHome> homes,
        @JsonProperty(required = true) ExtentState state) {

    /** Copies the homes. */
    public Extent {
        homes = List.copyOf(homes);
        Check.range("homes: number of elements", homes.size(), 1, 16);
    }

    /** The home to fetch from. */
    public ExtentHome primary() {
        return homes.getFirst();
    }

    /** Whether a page of the space is in this run. */
    public boolean contains(long page) {
        return page >= firstPage && page < firstPage + count;
    }

    /** The same with another state. */
    public Extent withState(ExtentState other) {
        return new Extent(firstPage, count, homes, other);
    }
}
