package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * A space, whether all its pages have as many copies as they should, and which nodes work with it.
 *
 * @param space which
 * @param extents that it has
 * @param degraded extents that have fewer homes than the space was made with
 * @param lost extents whose pages are lost
 * @param homes ids of the nodes that hold pages of it, in order
 * @param allocatedBytes of a thin space: bytes of its pages that have room at homes; empty if it is not thin
 * @param attachments the nodes that work with it, in the order of their ids
 */
public record SpaceUse(
        @JsonProperty(required = true) Space space,
        @JsonProperty(required = true) long extents,
        @JsonProperty(required = true) long degraded,
        @JsonProperty(required = true) long lost,
        @JsonProperty(required = true) List<String> homes,
        OptionalLong allocatedBytes,
        @JsonProperty(required = true) List<Attachment> attachments) {

    /** Copies the lists. */
    public SpaceUse {
        homes = List.copyOf(homes);
        attachments = List.copyOf(attachments);
    }

    /** Its state in a few words, the worst first: lost extents, torn, being deleted, degraded extents. */
    public String condition() {
        if (lost > 0) {
            return "%d of %d lost".formatted(lost, extents);
        }
        if (space.torn().isPresent()) {
            return "torn";
        }
        if (space.deleting()) {
            return "deleting";
        }
        return degraded > 0
                ? "%d of %d degraded".formatted(degraded, extents)
                : space.state().name().toLowerCase(Locale.ROOT);
    }
}
