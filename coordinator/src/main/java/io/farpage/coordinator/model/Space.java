package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;

/**
 * The guest-physical address space of one VM.
 *
 * @param id given by the coordinator, never used again
 * @param name given by its maker, unique among those that exist
 * @param sizeBytes a multiple of the page size
 * @param pageSize 4096 or 2097152
 * @param state ok, or lost once any of its extents is
 * @param createdAt when it was made
 * @param deleting whether it goes away as soon as nobody is attached to it
 */
public record Space(
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        @JsonProperty(required = true) int pageSize,
        @JsonProperty(required = true) ExtentState state,
        @JsonProperty(required = true) Instant createdAt,
        @JsonProperty(required = true) boolean deleting) {

    /** How many pages it has. */
    public long pages() {
        return sizeBytes / pageSize;
    }

    /** The same with another state. */
    public Space withState(ExtentState other) {
        return new Space(id, name, sizeBytes, pageSize, other, createdAt, deleting);
    }

    /** The same, about to go away. */
    public Space withDeleting() {
        return new Space(id, name, sizeBytes, pageSize, state, createdAt, true);
    }
}
