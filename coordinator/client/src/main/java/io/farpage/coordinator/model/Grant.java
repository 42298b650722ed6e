package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * What a home has granted to a node that is attached to one of its spaces: the answer of {@code GET
 * /nodes/{id}/grants/{space}/{node}}.
 *
 * @param space id of the space
 * @param home node that hosts it
 * @param homeIncarnation of the home
 * @param node that is attached
 * @param incarnation of that node
 * @param sealed as in {@link GrantRequest}
 */
public record Grant(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String home,
        @JsonProperty(required = true) Incarnation homeIncarnation,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String sealed) {}
