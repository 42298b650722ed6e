package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.OptionalLong;

/**
 * How far a node that is marked for draining has been emptied.
 *
 * @param node which
 * @param drained whether its pool is empty
 * @param extents that have a copy in its pool
 * @param bytes of these copies, and of ranges that the node has to zero
 * @param copiedBytes of these, that are copied to other nodes already, as agents have reported within the last seconds,
 *     or only have to be zeroed; empty from a coordinator that does not know that
 * @param reasons what keeps them, for people: a line for each space
 */
public record Drain(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) boolean drained,
        @JsonProperty(required = true) long extents,
        @JsonProperty(required = true) long bytes,
        OptionalLong copiedBytes,
        @JsonProperty(required = true) List<String> reasons) {

    /** Copies the reasons. */
    public Drain {
        reasons = List.copyOf(reasons);
    }

    /** Bytes that no other node has yet. */
    public long leftBytes() {
        return Math.max(0, bytes - copiedBytes.orElse(0));
    }
}
