package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A clone to be made of a snapshot, the body of {@code POST /spaces/{id}/clones}.
 *
 * @param name unique among all spaces; as a node id, and not all digits
 */
public record CloneRequest(@JsonProperty(required = true) String name) {
    /** Checks the name. */
    public CloneRequest {
        Check.spaceName("name", name);
    }
}
