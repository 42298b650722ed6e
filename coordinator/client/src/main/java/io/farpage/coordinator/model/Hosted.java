package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * All that a home must do, as of one revision: the answer of {@code GET /nodes/{id}/hosted}. The node applies it as a
 * whole and keeps it, so that a coordinator can be rebuilt.
 *
 * @param revision of the state that this was read from; what a node reads later is of the same revision or a later one
 * @param spaces that have at least one extent there, each with all its extents and as of the same revision
 * @param fences incarnations of other nodes to be cut off, and those that are and must stay so
 * @param attachments to these spaces, of all nodes: the node grants each access to the space, and to no other
 * @param pulls of extents there, or to there: a home grants reads of the extent to the node that pulls, and that node
 *     copies the pages
 * @param releases ranges that the node must zero before they are used again
 */
public record Hosted(
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) List<SpaceExtents> spaces,
        @JsonProperty(required = true) List<Fence> fences,
        @JsonProperty(required = true) List<HostedAttachment> attachments,
        @JsonProperty(required = true) List<HostedPull> pulls,
        @JsonProperty(required = true) List<Release> releases) {

    /** Nothing, of no revision. */
    public static final Hosted NOTHING = new Hosted(0, List.of(), List.of(), List.of(), List.of(), List.of());

    /** Copies the lists. */
    public Hosted {
        spaces = List.copyOf(spaces);
        fences = List.copyOf(fences);
        attachments = List.copyOf(attachments);
        pulls = List.copyOf(pulls);
        releases = List.copyOf(releases);
    }

    /** The same with other fences. */
    public Hosted withFences(List<Fence> others) {
        return new Hosted(revision, spaces, others, attachments, pulls, releases);
    }

    /** The releases that may be carried out: no incarnation that is still to be cut off can write to their ranges. */
    public List<Release> zeroable() {
        return releases.stream()
                .filter(release ->
                        fences.stream().noneMatch(fence -> fence.space() == release.space() && !fence.acknowledged()))
                .toList();
    }
}
