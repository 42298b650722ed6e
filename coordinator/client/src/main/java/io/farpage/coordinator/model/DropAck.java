package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The body of {@code POST /spaces/{id}/attachments/{node}/drops/ack}: the node that writes a space has nothing under
 * way to the homes that were dropped up to these epochs, and will not write to them again.
 *
 * @param incarnation of the attached node
 * @param extents each with the latest epoch that the writer uses
 */
public record DropAck(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<ExtentEpoch> extents) {

    /** Copies the list. */
    public DropAck {
        extents = List.copyOf(extents);
    }
}
