package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * All that a node needs for the spaces that it works with, as of one revision: the answer of {@code GET
 * /nodes/{id}/attached}. Extents and grants that the node has from the document that it names in its request are left
 * out, unless they have changed.
 *
 * @param revision of the state that this was read from; what a node reads later is of the same revision or a later one
 * @param mark names this document in the next request; drawn anew for each
 * @param spaces that the node is attached to
 * @param pulls of the node
 * @param grants of homes of these spaces and pulls for the node, each sealed for it alone. They are kept in memory: one
 *     that is not listed may be as good as before
 * @param homes all of these that are registered
 */
public record Attached(
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) long mark,
        @JsonProperty(required = true) List<Held> spaces,
        @JsonProperty(required = true) List<Pull> pulls,
        @JsonProperty(required = true) List<Grant> grants,
        @JsonProperty(required = true) List<Node> homes) {

    /** Nothing, of no revision. No document has its mark. */
    public static final Attached NOTHING = new Attached(0, 0, List.of(), List.of(), List.of(), List.of());

    /** Copies the lists. */
    public Attached {
        spaces = List.copyOf(spaces);
        pulls = List.copyOf(pulls);
        grants = List.copyOf(grants);
        homes = List.copyOf(homes);
    }

    /**
     * A space that the node is attached to.
     *
     * @param attachment how, and in which incarnation
     * @param cutOff whether homes cut that incarnation off: another node has taken the space over
     * @param extents where its pages live; empty if nothing of it has changed
     */
    public record Held(
            @JsonProperty(required = true) Attachment attachment,
            @JsonProperty(required = true) boolean cutOff,
            Optional<SpaceExtents> extents) {}

    /**
     * An extent that the node joins and whose pages it may copy.
     *
     * @param space id of the space
     * @param extent in the epoch of the pull
     * @param homes ids of the nodes that it reads from
     */
    public record Pull(
            @JsonProperty(required = true) long space,
            @JsonProperty(required = true) ExtentEpoch extent,
            @JsonProperty(required = true) List<String> homes) {
        /** Copies the list. */
        public Pull {
            homes = List.copyOf(homes);
        }
    }
}
