package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * The answer to {@code PUT /spaces/{id}/attachments/{node}}: the fields of the {@link Attachment}, and the extents of
 * the space if they were asked for.
 *
 * @param extents read when the attachment was committed, or later; empty also if the coordinator is of an earlier build
 */
public record NewAttachment(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode,
        long id,
        Optional<Incarnation> heir,
        Optional<String> presence,
        Optional<SpaceExtents> extents) {
    /** The answer for an attachment. */
    public static NewAttachment of(Attachment made, Optional<SpaceExtents> extents) {
        return new NewAttachment(
                made.space(),
                made.node(),
                made.incarnation(),
                made.mode(),
                made.id(),
                made.heir(),
                made.presence(),
                extents);
    }

    /** The attachment. */
    public Attachment attachment() {
        return new Attachment(space, node, incarnation, mode, id, heir, presence);
    }
}
