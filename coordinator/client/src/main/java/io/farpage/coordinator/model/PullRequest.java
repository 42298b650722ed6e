package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The body of {@code POST /spaces/{id}/attachments/{node}/pulls}: from now on the node that writes a space notes the
 * pages of these extents that it writes, so the home that joins each of them may pull. An extent for which that was
 * said before stays as it is.
 *
 * @param incarnation of the attached node
 * @param extents each in the epoch in which the home joins
 */
public record PullRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<ExtentEpoch> extents) {

    /** Copies the list. */
    public PullRequest {
        extents = List.copyOf(extents);
    }
}
