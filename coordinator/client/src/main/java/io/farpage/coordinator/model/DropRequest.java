package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The body of {@code POST /spaces/{id}/attachments/{node}/drops}: the node that writes a space asks that one home is
 * dropped from extents of it. All are changed, or none.
 *
 * @param incarnation of the attached node
 * @param home the node to be dropped
 * @param homeIncarnation its incarnation
 * @param extents from which the home is dropped, each in the epoch that the writer knows
 */
public record DropRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String home,
        @JsonProperty(required = true) Incarnation homeIncarnation,
        @JsonProperty(required = true) List<ExtentEpoch> extents) {

    /** Checks the node's id and copies the list. */
    public DropRequest {
        Node.checkId(home);
        extents = List.copyOf(extents);
    }
}
