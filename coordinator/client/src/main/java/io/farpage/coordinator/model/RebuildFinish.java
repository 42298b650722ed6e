package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Ends a rebuild, the body of {@code POST /rebuild/finish}.
 *
 * @param without nodes to give up: what they hold is lost, and their present incarnations are refused from then on
 */
public record RebuildFinish(@JsonProperty(required = true) List<String> without) {

    /** Copies the list. */
    public RebuildFinish {
        without = List.copyOf(without);
    }
}
