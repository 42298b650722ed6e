package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * The body of {@code POST /nodes/{id}/pulls}: how a pull of the node has ended.
 *
 * @param incarnation of the node
 * @param space id of the space
 * @param extent in the epoch in which the node joins it
 * @param failure why the pages could not be copied, for people, at most 1000 characters; empty if all are copied
 */
public record PullReport(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) ExtentEpoch extent,
        Optional<String> failure) {

    private static final int LONGEST = 1000;

    /** Checks the length. */
    public PullReport {
        Check.range("failure: number of characters", failure.map(String::length).orElse(0), 0, LONGEST);
    }
}
