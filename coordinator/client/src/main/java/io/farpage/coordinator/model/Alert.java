package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Something that an operator has to see to.
 *
 * @param severity how urgent it is
 * @param kind what is wrong
 * @param node that it is about, if any
 * @param space name of the space that it is about, if any
 * @param message a sentence for people, with what to do
 */
public record Alert(
        @JsonProperty(required = true) AlertKind.Severity severity,
        @JsonProperty(required = true) AlertKind kind,
        Optional<String> node,
        Optional<String> space,
        @JsonProperty(required = true) String message) {

    /** What it is about, for people. */
    public String subject() {
        String about = Stream.concat(space.map(name -> "space " + name).stream(), node.map(id -> "node " + id).stream())
                .collect(Collectors.joining(", "));
        return about.isEmpty() ? "cluster" : about;
    }

    /** About a node. */
    public static Alert ofNode(AlertKind kind, String node, String message) {
        return new Alert(kind.severity(), kind, Optional.of(node), Optional.empty(), message);
    }

    /** About a space. */
    public static Alert ofSpace(AlertKind kind, String space, String message) {
        return new Alert(kind.severity(), kind, Optional.empty(), Optional.of(space), message);
    }
}
