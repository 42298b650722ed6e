package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * A snapshot to be made of the space of a guest that runs, the body of {@code POST
 * /spaces/{id}/attachments/{node}/snapshot}. The homes have all pages as they were at one moment; the node has nothing
 * under way to them, and writes to them no more before it knows the answer.
 *
 * @param incarnation of the attached node
 * @param name of the snapshot; as that of a space
 * @param key 16 hex digits, drawn for this snapshot: a request that is repeated answers the same one
 * @param attempt counts the requests with this key from 1 on; one that arrives after a later one is refused
 * @param presence mark of the map of those pages, which the node has written behind them; empty if it has not
 */
public record SnapshotRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) String key,
        @JsonProperty(required = true) int attempt,
        Optional<String> presence) {
    /**
     * Checks the name of a snapshot.
     *
     * @throws IllegalArgumentException saying what is wrong with it
     */
    public static String checkName(String name) {
        return Check.spaceName("name", name);
    }

    /** Checks the name, the key and the count. */
    public SnapshotRequest {
        checkName(name);
        Check.hex16("key", key);
        Check.range("attempt", attempt, 1, Integer.MAX_VALUE);
    }
}
