package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What the node that writes a space says of extents, the body of five requests below {@code
 * /spaces/{id}/attachments/{node}}. All extents are changed, or none; of {@code allocations}, as many as there is room
 * for.
 *
 * <ul>
 *   <li>{@code pulls}: from now on it notes the pages that it writes, so the home that joins each of them may pull. An
 *       extent for which that was said before stays as it is.
 *   <li>{@code promotions}: it has copied all pages to the home that joins each.
 *   <li>{@code drops/ack}: it has nothing under way to the homes that were dropped up to these epochs, and will not
 *       write to them again.
 *   <li>{@code allocations}: it is about to write to them. An extent that has room stays as it is.
 *   <li>{@code deallocations}: all their pages that are not in the guest's memory are zeros, and it will not write to
 *       their homes again.
 * </ul>
 *
 * @param incarnation of the attached node
 * @param extents each in the epoch that it knows
 */
public record WriterRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<ExtentEpoch> extents) {

    /** Copies the list. */
    public WriterRequest {
        extents = List.copyOf(extents);
    }
}
