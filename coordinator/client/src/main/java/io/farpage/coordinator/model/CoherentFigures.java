package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * A coherent space: its members, and what its homes do for them.
 *
 * @param spaceId id of the space
 * @param space its name
 * @param members ids of their nodes, in order
 * @param homes those that answer requests for its pages, in the order of their ids
 */
public record CoherentFigures(
        @JsonProperty(required = true) long spaceId,
        @JsonProperty(required = true) String space,
        @JsonProperty(required = true) List<String> members,
        @JsonProperty(required = true) List<OfHome> homes) {

    /** Copies the lists. */
    public CoherentFigures {
        members = List.copyOf(members);
        homes = List.copyOf(homes);
    }

    /**
     * A home.
     *
     * @param node its id
     * @param figures of its last report; empty if that is old, as when the space has no members
     */
    public record OfHome(@JsonProperty(required = true) String node, Optional<DirectoryFigures> figures) {}
}
