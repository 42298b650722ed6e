package io.farpage.access;

import java.util.Optional;
import java.util.Set;

/**
 * What of a service's configuration decides rights. Immutable.
 *
 * @param node id of the node whose agent the service is; empty for a coordinator, which serves all nodes
 * @param settings names of the settings that rights depend on and that are true
 */
public record Terms(Optional<String> node, Set<String> settings) {

    /** Those of a coordinator in which no such setting is true. */
    public static final Terms NONE = new Terms(Optional.empty(), Set.of());

    /** Copies the names. */
    public Terms {
        settings = Set.copyOf(settings);
    }

    /** Those of a node's agent. */
    public static Terms ofAgent(String node) {
        return new Terms(Optional.of(node), Set.of());
    }
}
