package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * What lies in one node's pool: the answer of {@code GET /nodes/{id}/hosted}. The node keeps it, so that a coordinator
 * can be rebuilt.
 *
 * @param revision of the state that this was read from
 * @param spaces that have at least one extent there, each with all its extents
 * @param releases ranges that the node must zero before they are used again
 * @param attachments to these spaces, of all nodes: the node grants each access to the space, and to no other
 * @param pulls of extents there, or to there: a home grants reads of the extent to the node that pulls, and that node
 *     copies the pages; none when left out
 */
public record Hosted(
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) List<SpaceExtents> spaces,
        @JsonProperty(required = true) List<Release> releases,
        @JsonProperty(required = true) List<HostedAttachment> attachments,
        Optional<List<HostedPull>> pulls) {

    /** Nothing, of no revision. */
    public static final Hosted NOTHING = new Hosted(0, List.of(), List.of());

    /** Without attachments. */
    public Hosted(long revision, List<SpaceExtents> spaces, List<Release> releases) {
        this(revision, spaces, releases, List.of(), Optional.empty());
    }

    /** Copies the lists. */
    public Hosted {
        spaces = List.copyOf(spaces);
        releases = List.copyOf(releases);
        attachments = List.copyOf(attachments);
        pulls = pulls.map(List::copyOf);
    }

    /** The pulls of extents there, or to there. */
    public List<HostedPull> pulled() {
        return pulls.orElse(List.of());
    }
}
