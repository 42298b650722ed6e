package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Something that happened.
 *
 * @param index its place in the one order of all events, from 1
 * @param kind what
 * @param node whom it concerns, if anyone
 * @param peer toward whom, for endpoints
 * @param space name of the space that it concerns, if any
 * @param spaceId id of that space; its name may be another space's by now
 */
public record Event(
        @JsonProperty(required = true) long index,
        @JsonProperty(required = true) EventKind kind,
        Optional<String> node,
        Optional<String> peer,
        Optional<String> space,
        OptionalLong spaceId) {}
