package io.farpage.coordinator.model;

import java.util.List;
import java.util.Optional;

/**
 * The body of {@code PUT /spaces/{id}/nodes}.
 *
 * @param nodes the nodes that may attach the space from now on; all may, when left out
 */
public record SpaceNodes(Optional<List<String>> nodes) {

    /** Checks the ids. */
    public SpaceNodes {
        nodes = nodes.map(Space::checkNodes);
    }
}
