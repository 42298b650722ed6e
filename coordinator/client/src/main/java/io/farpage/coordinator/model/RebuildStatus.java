package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How far a rebuild is, the answer of {@code GET /rebuild}.
 *
 * @param reported nodes whose reports were taken in
 * @param missing nodes that are expected, or that are homes of reported spaces, and have not reported
 * @param spaces that the reports contain
 * @param conflicts why the rebuild cannot finish as it is
 * @param finished whether the coordinator goes on to serve
 */
public record RebuildStatus(
        @JsonProperty(required = true) List<String> reported,
        @JsonProperty(required = true) List<String> missing,
        @JsonProperty(required = true) List<String> spaces,
        @JsonProperty(required = true) List<String> conflicts,
        @JsonProperty(required = true) boolean finished) {

    /** Copies the lists. */
    public RebuildStatus {
        reported = List.copyOf(reported);
        missing = List.copyOf(missing);
        spaces = List.copyOf(spaces);
        conflicts = List.copyOf(conflicts);
    }
}
