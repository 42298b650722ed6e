package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/** What happened. */
public enum EventKind {
    /** A cluster was formed. */
    @JsonProperty("cluster-formed")
    CLUSTER_FORMED,
    /** The cluster was dissolved. */
    @JsonProperty("cluster-dissolved")
    CLUSTER_DISSOLVED,
    /** A node registered with a new incarnation; the endpoints of an older one are gone. */
    @JsonProperty("node-registered")
    NODE_REGISTERED,
    /** A node's description or status changed within the same incarnation. */
    @JsonProperty("node-changed")
    NODE_CHANGED,
    /** A node's lease ran out. */
    @JsonProperty("node-failed")
    NODE_FAILED,
    /** A failed node's heartbeat came after all. */
    @JsonProperty("node-revived")
    NODE_REVIVED,
    /** A node deregistered. */
    @JsonProperty("node-removed")
    NODE_REMOVED,
    /** {@code node} published its endpoint toward {@code peer}. */
    @JsonProperty("endpoint-published")
    ENDPOINT_PUBLISHED,
    /** {@code node} withdrew its endpoint toward {@code peer}. */
    @JsonProperty("endpoint-withdrawn")
    ENDPOINT_WITHDRAWN,
    /** A space was made. */
    @JsonProperty("space-created")
    SPACE_CREATED,
    /** The deletion of a space has begun. Attached nodes detach. */
    @JsonProperty("space-deleting")
    SPACE_DELETING,
    /** A space was deleted. */
    @JsonProperty("space-deleted")
    SPACE_DELETED,
    /** {@code space} was marked as torn, or the mark ended. */
    @JsonProperty("space-torn")
    SPACE_TORN,
    /** {@code space} was detached, and the tags of its pages were left in another file than before. */
    @JsonProperty("space-sealed")
    SPACE_SEALED,
    /** Other nodes than before may attach {@code space}. */
    @JsonProperty("space-allowed")
    SPACE_ALLOWED,
    /** {@code space} is a snapshot from now on. */
    @JsonProperty("snapshot-made")
    SNAPSHOT_MADE,
    /** Extents of {@code space} were lost with {@code node}. */
    @JsonProperty("extents-lost")
    EXTENTS_LOST,
    /** {@code peer} takes {@code space} over from {@code node}, which has failed: the homes cut {@code node} off. */
    @JsonProperty("space-taken-over")
    SPACE_TAKEN_OVER,
    /**
     * The exclusive attachment of {@code space} has passed to the incarnation of {@code node} that has adopted the
     * guest.
     */
    @JsonProperty("guest-adopted")
    GUEST_ADOPTED,
    /** The guest of {@code space} on {@code node} was parked. */
    @JsonProperty("guest-parked")
    GUEST_PARKED,
    /** The guest of {@code space} on {@code node} is no longer parked. */
    @JsonProperty("guest-unparked")
    GUEST_UNPARKED,
    /**
     * {@code node} joins extents of {@code space}, was promoted to one of their homes or dropped from them, or the
     * frames of an earlier drop were given back.
     */
    @JsonProperty("homes-changed")
    HOMES_CHANGED,
    /**
     * Extents of {@code space} have as many homes as the space was made with again: {@code node} is the new one. Comes
     * after {@code homes-changed}.
     */
    @JsonProperty("extents-repaired")
    EXTENTS_REPAIRED,
    /** The drain of {@code node} has begun, or was cancelled. */
    @JsonProperty("drain-changed")
    DRAIN_CHANGED,
    /** The pool of {@code node}, which is being drained, is empty. */
    @JsonProperty("node-drained")
    NODE_DRAINED,
    /** {@code node} has ranges of its pool to zero. */
    @JsonProperty("releases-pending")
    RELEASES_PENDING,
    /** {@code node} has other incarnations to cut off than before. */
    @JsonProperty("fences-changed")
    FENCES_CHANGED,
    /** The nodes that are attached to {@code space} have changed. {@code node} has extents of that space. */
    @JsonProperty("attachments-changed")
    ATTACHMENTS_CHANGED,
    /** {@code node} published the keys of {@code space} for {@code peer}. */
    @JsonProperty("grant-published")
    GRANT_PUBLISHED,
    /** A kind that this program is too old to know. */
    @JsonProperty("unknown")
    @com.fasterxml.jackson.annotation.JsonEnumDefaultValue
    UNKNOWN
}
