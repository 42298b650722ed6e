package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * The body of {@code PUT /spaces/{id}/attachments/{node}}.
 *
 * @param incarnation of the node
 * @param mode alone or beside others
 * @param force whether to take a torn space as it is, which ends the mark; false when left out
 */
public record AttachRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode,
        Optional<Boolean> force) {

    /** Attaches to a space only if it is not torn. */
    public AttachRequest(Incarnation incarnation, AttachMode mode) {
        this(incarnation, mode, Optional.empty());
    }
}
