package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * A node that works with a space, and so knows where its pages live. As long as there is one, the room of the space is
 * given to no other.
 *
 * @param space id of the space
 * @param node which works with it
 * @param incarnation of the node
 * @param mode alone, beside others, or as a member of a coherent space
 * @param id of this attachment; another one of the node to the space, before or after it, has another. That of a member
 *     stays when it passes to an heir
 * @param heir a later incarnation of the node, which has adopted the guest: the attachment passes to it once the homes
 *     have cut this one off
 * @param presence of an exclusive attachment: the mark of the space's {@link Presence presence map}, which was right
 *     when the node attached; empty if none was
 */
public record Attachment(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode,
        long id,
        Optional<Incarnation> heir,
        Optional<String> presence) {
    /** Makes an attachment without an heir: its incarnation runs. */
    public Attachment(long space, String node, Incarnation incarnation, AttachMode mode, long id) {
        this(space, node, incarnation, mode, id, Optional.empty(), Optional.empty());
    }

    /**
     * Whether homes may join extents of the space, since this node, the only one that writes to it, notes what it
     * writes.
     */
    public boolean mayRepair() {
        return mode == AttachMode.EXCLUSIVE && heir.isEmpty();
    }

    /** The same; the node knows a presence map of this mark. */
    public Attachment withPresence(Optional<String> mark) {
        return new Attachment(space, node, incarnation, mode, id, heir, mark);
    }

    /** The same, to be passed on to a later incarnation. */
    public Attachment withHeir(Incarnation later) {
        return new Attachment(space, node, incarnation, mode, id, Optional.of(later), presence);
    }
}
