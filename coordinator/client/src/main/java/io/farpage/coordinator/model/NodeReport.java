package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * All that an agent knows of the cluster, the body of {@code PUT /rebuild/nodes/{id}}.
 *
 * @param seen the newest state that any answer carried; empty if the agent has never joined
 * @param index of the last event that the agent has taken into account; 0 if it has read none
 * @param registration what the agent registers with
 * @param hosted what it does as a home, with the fences acknowledged that it has carried out
 * @param attached the spaces that it works with, each with all its extents
 * @param attachments how it works with them
 * @param released the releases that it has carried out and that the coordinator may not know of yet
 * @param superseded incarnations of other nodes that it has seen replaced or removed
 * @param deleted ids of deleted spaces whose ranges it has zeroed; an agent of an earlier build leaves it out
 * @param left spaces of guests that an earlier process of the node has left and that this one does not serve yet; an
 *     agent of an earlier build leaves it out
 */
public record NodeReport(
        Optional<String> seen,
        @JsonProperty(required = true) long index,
        @JsonProperty(required = true) Registration registration,
        @JsonProperty(required = true) Hosted hosted,
        @JsonProperty(required = true) List<SpaceExtents> attached,
        @JsonProperty(required = true) List<Held> attachments,
        @JsonProperty(required = true) List<Release> released,
        @JsonProperty(required = true) List<Superseded> superseded,
        Optional<List<Long>> deleted,
        Optional<List<Left>> left) {

    /** Checks what was seen and copies the lists. */
    public NodeReport {
        seen.ifPresent(Seen::parse);
        attached = List.copyOf(attached);
        attachments = List.copyOf(attachments);
        released = List.copyOf(released);
        superseded = List.copyOf(superseded);
        deleted = deleted.map(List::copyOf);
        left = left.map(List::copyOf);
    }

    /** What the agent has seen, read. */
    public Optional<Seen> lastSeen() {
        return seen.map(Seen::parse);
    }

    /**
     * An attachment.
     *
     * @param space id of the space
     * @param mode alone, beside others, or as a member of a coherent space
     * @param torn why not all pages of a guest that has ended are at their homes, if they are not and the coordinator
     *     was not told
     * @param ends whether the agent detaches: nothing uses the space, and a coordinator may have ended the attachment
     *     already
     */
    public record Held(
            @JsonProperty(required = true) long space,
            @JsonProperty(required = true) AttachMode mode,
            Optional<String> torn,
            @JsonProperty(required = true) boolean ends) {
        /** Cuts the reason to what a reason may be. */
        public Held {
            torn = torn.map(Torn::reason);
        }
    }

    /**
     * A space whose guest waits for the process that reports.
     *
     * @param incarnation of the process that has served the guest, which attached to the space exclusively
     * @param space with all its extents as that process knew them
     */
    public record Left(
            @JsonProperty(required = true) Incarnation incarnation,
            @JsonProperty(required = true) SpaceExtents space) {}

    /**
     * An incarnation that no longer belongs to the cluster.
     *
     * @param node its node
     * @param incarnation which was replaced by another, or removed
     */
    public record Superseded(
            @JsonProperty(required = true) String node,
            @JsonProperty(required = true) Incarnation incarnation) {
        /** Checks the node's id. */
        public Superseded {
            Node.checkId(node);
        }
    }
}
