package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * A node that is attached to a space, for a home that has extents of that space.
 *
 * @param space id of the space
 * @param node which is attached
 * @param incarnation of that node
 * @param id of the attachment
 * @param mode alone, beside others, or as a member of a coherent space; a coordinator of an earlier build leaves it out
 * @param granted version of the {@link Grant} of this home for it that the coordinator has; 0 if it has none. A member
 *     gets none
 * @param heir a later incarnation of the node, which has adopted the guest; a home of a coherent space counts the
 *     member as of that incarnation from then on
 */
public record HostedAttachment(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long id,
        Optional<AttachMode> mode,
        @JsonProperty(required = true) long granted,
        Optional<Incarnation> heir) {

    /** An attachment with the version of the grant for it that the coordinator has. */
    public static HostedAttachment of(Attachment attachment, long granted) {
        return new HostedAttachment(
                attachment.space(),
                attachment.node(),
                attachment.incarnation(),
                attachment.id(),
                Optional.of(attachment.mode()),
                granted,
                attachment.heir());
    }
}
