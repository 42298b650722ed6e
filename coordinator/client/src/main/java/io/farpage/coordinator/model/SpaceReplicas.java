package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The body of {@code PUT /spaces/{id}/replicas}.
 *
 * @param replicas how many homes each extent of the space gets, 1 to 3, in as many failure domains
 */
public record SpaceReplicas(@JsonProperty(required = true) int replicas) {

    /** Checks the number. */
    public SpaceReplicas {
        Check.range("replicas", replicas, 1, SpaceRequest.MAX_REPLICAS);
    }
}
