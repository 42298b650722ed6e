package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The body of {@code POST /spaces/{id}/attachments/{node}/promotions}: the node that writes a space has copied all
 * pages of extents to the home that joins each of them. All are changed, or none.
 *
 * @param incarnation of the attached node
 * @param extents each in the epoch in which the pages were copied, which names the joining home
 */
public record PromoteRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<ExtentEpoch> extents) {

    /** Copies the list. */
    public PromoteRequest {
        extents = List.copyOf(extents);
    }
}
