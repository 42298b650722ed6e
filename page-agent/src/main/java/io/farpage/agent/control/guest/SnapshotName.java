package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.coordinator.model.SnapshotRequest;

/**
 * A snapshot to be made of a running guest, the body of {@code POST /spaces/{space}/guest/snapshot}.
 *
 * @param name of the snapshot, unique among all spaces
 */
public record SnapshotName(@JsonProperty(required = true) String name) {
    /** Checks the name. */
    public SnapshotName {
        SnapshotRequest.checkName(name);
    }
}
