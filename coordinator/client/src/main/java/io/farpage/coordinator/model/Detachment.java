package io.farpage.coordinator.model;

import java.util.Optional;

/**
 * How a node leaves a space when it detaches.
 *
 * @param torn why some pages of an exclusive attachment are not at their homes; empty if all are
 * @param seal the mark of the file in which the node has left the tags of an encrypted space; empty if it left no newer
 *     one
 * @param presence the mark of the {@link Presence presence map} that the homes have; empty if the node left none
 * @param loaded whether the node has written all pages of a space that was made to be loaded
 */
public record Detachment(Optional<String> torn, Optional<String> seal, Optional<String> presence, boolean loaded) {
    /** The node has nothing to say. */
    public static final Detachment PLAIN = new Detachment(Optional.empty(), Optional.empty(), Optional.empty(), false);

    /** Not all pages are at their homes. */
    public static Detachment torn(String reason) {
        return new Detachment(Optional.of(reason), Optional.empty(), Optional.empty(), false);
    }

    /** The node has left the tags of an encrypted space in a file. */
    public static Detachment sealed(String mark) {
        return new Detachment(Optional.empty(), Optional.of(mark), Optional.empty(), false);
    }
}
