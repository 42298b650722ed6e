package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * The guest-physical address space of one VM.
 *
 * @param id given by the coordinator, never used again
 * @param name given by its maker, unique among those that exist
 * @param sizeBytes a multiple of the page size
 * @param pageSize 4096 or 2097152
 * @param state ok, or lost once any of its extents is
 * @param createdAt when it was made
 * @param deleting whether it is removed once no node is attached to it
 * @param torn why it may hold a mix of older and newer pages, if it may
 * @param encryption how its pages are sealed; empty if their homes can read them
 */
public record Space(
        @JsonProperty(required = true) long id,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        @JsonProperty(required = true) int pageSize,
        @JsonProperty(required = true) ExtentState state,
        @JsonProperty(required = true) Instant createdAt,
        @JsonProperty(required = true) boolean deleting,
        Optional<Torn> torn,
        Optional<Encryption> encryption) {

    private static final Pattern ID = Pattern.compile("[0-9]{1,18}");

    /** The id that a text is, if it is one: names are never all digits. */
    public static OptionalLong idOf(String nameOrId) {
        return ID.matcher(nameOrId).matches() ? OptionalLong.of(Long.parseLong(nameOrId)) : OptionalLong.empty();
    }

    /** A space that is whole and not encrypted. */
    public Space(
            long id,
            String name,
            long sizeBytes,
            int pageSize,
            ExtentState state,
            Instant createdAt,
            boolean deleting) {
        this(id, name, sizeBytes, pageSize, state, createdAt, deleting, Optional.empty(), Optional.empty());
    }

    /** How many pages it has. */
    public long pages() {
        return sizeBytes / pageSize;
    }

    /** The same with another state. */
    public Space withState(ExtentState other) {
        return new Space(id, name, sizeBytes, pageSize, other, createdAt, deleting, torn, encryption);
    }

    /** The same, about to go away. */
    public Space withDeleting() {
        return new Space(id, name, sizeBytes, pageSize, state, createdAt, true, torn, encryption);
    }

    /** The same, torn or whole. */
    public Space withTorn(Optional<Torn> other) {
        return new Space(id, name, sizeBytes, pageSize, state, createdAt, deleting, other, encryption);
    }

    /** The same, with other words on how its pages are sealed. */
    public Space withEncryption(Optional<Encryption> other) {
        return new Space(id, name, sizeBytes, pageSize, state, createdAt, deleting, torn, other);
    }
}
