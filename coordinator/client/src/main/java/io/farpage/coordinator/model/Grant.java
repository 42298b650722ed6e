package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * What a home has granted to a node that is attached to one of its spaces, or that pulls an extent of one.
 *
 * @param space id of the space
 * @param home node that hosts it
 * @param homeIncarnation of the home
 * @param node that is attached or pulls
 * @param incarnation of that node
 * @param attachment id of the attachment; 0 if the node pulls
 * @param pull the extent that the node reads to pull it, in the epoch of the pull; empty if it is attached
 * @param version of the home's process: a later grant has a greater one
 * @param sealed as in {@link GrantRequest}
 */
public record Grant(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String home,
        @JsonProperty(required = true) Incarnation homeIncarnation,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long attachment,
        Optional<ExtentEpoch> pull,
        @JsonProperty(required = true) long version,
        @JsonProperty(required = true) String sealed) {}
