package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * All that an agent knows of the cluster, the body of {@code PUT /rebuild/nodes/{id}}.
 *
 * @param seen the newest state that any answer carried; empty if the agent has never joined
 * @param registration what the agent registers with
 * @param hosted what lies in its pool
 * @param attached the spaces that it works with, each with all its extents
 * @param attachments how it works with them
 * @param released the releases that it has carried out and that the coordinator may not know of yet
 */
public record NodeReport(
        Optional<String> seen,
        @JsonProperty(required = true) Registration registration,
        @JsonProperty(required = true) Hosted hosted,
        @JsonProperty(required = true) List<SpaceExtents> attached,
        @JsonProperty(required = true) List<Held> attachments,
        @JsonProperty(required = true) List<Release> released) {

    /** Checks what was seen and copies the lists. */
    public NodeReport {
        seen.ifPresent(Seen::parse);
        attached = List.copyOf(attached);
        attachments = List.copyOf(attachments);
        released = List.copyOf(released);
    }

    /** What the agent has seen, read. */
    public Optional<Seen> lastSeen() {
        return seen.map(Seen::parse);
    }

    /**
     * An attachment.
     *
     * @param space id of the space
     * @param mode alone or beside others
     */
    public record Held(
            @JsonProperty(required = true) long space,
            @JsonProperty(required = true) AttachMode mode) {}
}
