package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How far a node has copied pages to homes that join, the body of {@code POST /nodes/{id}/copies}. It replaces what the
 * node has reported before.
 *
 * @param incarnation of the node
 * @param copies that are under way
 */
public record CopyReport(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<Copy> copies) {

    /** The most copies of a report. */
    public static final int MAX_COPIES = 4096;

    /** Checks the number of copies, and copies the list. */
    public CopyReport {
        Check.range("copies: number of elements", copies.size(), 0, MAX_COPIES);
        copies = List.copyOf(copies);
    }

    /**
     * The copy of an extent.
     *
     * @param space id of the space
     * @param extent in the epoch in which the home joins it
     * @param leftBytes that the home may still lack
     */
    public record Copy(
            @JsonProperty(required = true) long space,
            @JsonProperty(required = true) ExtentEpoch extent,
            @JsonProperty(required = true) long leftBytes) {

        /** Checks the number of bytes. */
        public Copy {
            Check.range("leftBytes", leftBytes, 0, Long.MAX_VALUE);
        }
    }
}
